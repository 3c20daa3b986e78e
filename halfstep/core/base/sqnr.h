// Similarity of approximate values to exact ones: signal-to-noise ratio and cosine. Sums are in float64, in the order
// of the calls of `add`.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace halfstep {

/// 10 log10(signal / noise) of two sums of squares. Infinite without noise.
inline double decibels(double signal, double noise) {
  return noise > 0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

/// Sums over pairs of wanted and found values.
struct Likeness {
  double signal = 0, noise = 0;       ///< sum of squares of the wanted values, and of the differences
  double product = 0, magnitude = 0;  ///< sum of products of wanted and found values, and sum of squares of the found
                                      ///< values

  void add(double wanted, double found) {
    const double difference = wanted - found;
    signal += wanted * wanted;
    noise += difference * difference;
    product += wanted * found;
    magnitude += found * found;
  }
  void add(std::span<const float> wanted, std::span<const float> found) {
    for (size_t i = 0; i < wanted.size(); ++i) add(static_cast<double>(wanted[i]), static_cast<double>(found[i]));
  }

  double sqnr_db() const { return decibels(signal, noise); }
  /// Cosine between the wanted and the found vector. If one vector is all zero: 1 if the other is too, else 0.
  double cosine() const {
    if (signal > 0 && magnitude > 0) return product / (std::sqrt(signal) * std::sqrt(magnitude));
    return signal == magnitude ? 1.0 : 0.0;
  }
};

}  // namespace halfstep
