// How near numbers are to those that they stand for, over everything that is added: sums in float64, in the order of
// adding.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace halfstep {

/// 10 log10(signal / noise) of two sums of squares; infinite without noise.
inline double decibels(double signal, double noise) {
  return noise > 0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

struct Likeness {
  double signal = 0, noise = 0;       ///< squares of what was wanted, and of the differences from it
  double product = 0, magnitude = 0;  ///< of both, and squares of what was found

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
  /// Between both as vectors; where one is 0 throughout 0, or 1 where the other is too.
  double cosine() const {
    if (signal > 0 && magnitude > 0) return product / (std::sqrt(signal) * std::sqrt(magnitude));
    return signal == magnitude ? 1.0 : 0.0;
  }
};

}  // namespace halfstep
