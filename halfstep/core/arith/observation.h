// Scale and zero point of what an observer has seen. docs/arithmetic.md, section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "halfstep/core/arith/range.h"

namespace halfstep::arith {

/// What an observer makes of a batch, and parameters of what it has seen.
enum class Observing {
  minmax,       ///< extremes
  mse,          ///< of ranges shrunk from the extremes that of the smallest error
  quantile,     ///< extremes, clipped where a share of all magnitudes lies below
  clip_std,     ///< some deviations around the mean, within the extremes
  widen_std,    ///< some deviations around the mean, and the extremes: what MQBench's ClipStdObserver does
  lsq,          ///< a start for learned scales: 2 mean(|x|) / sqrt(code_max)
  lsq_plus,     ///< the same: three deviations around the mean over all codes
  power_floor,  ///< of powers of two from the one in front of the extremes' that of the smallest error
  power_mode,   ///< the same, of all batches the most frequent
  percentile,   ///< of all seen a share at either end is clipped
  kl,           ///< of all seen the range whose codes have the nearest distribution
  histogram     ///< of all seen the range of the smallest error
};

constexpr std::optional<Observing> parse_observing(std::string_view text) {
  constexpr std::string_view kNames[] = {"minmax",     "mse",        "quantile", "clip_std",
                                         "widen_std",  "lsq",        "lsq_plus", "power_floor",
                                         "power_mode", "percentile", "kl",       "histogram"};
  for (int i = 0; i < 12; ++i) {
    if (text == kNames[i]) return static_cast<Observing>(i);
  }
  return std::nullopt;
}

/// Equal bins between -2^e and 2^e, e being the least for which all extremes are inside: they nest when e grows, so a
/// histogram does not depend on the order of what it has seen.
inline constexpr int kHistogramBins = 2048;
/// Exponents of powers of two: scale 2^-e has slot e - kLowestExponent.
inline constexpr int kExponents = 64;
inline constexpr int kLowestExponent = -51;

/// How many numbers an observer keeps of a channel besides its extremes.
constexpr int statistics_of(Observing method) {
  switch (method) {
    case Observing::lsq: return 1;       // mean of magnitudes
    case Observing::lsq_plus: return 2;  // mean, deviation
    case Observing::power_floor:
    case Observing::power_mode: return kExponents;  // how often each was the best
    case Observing::percentile:
    case Observing::kl:
    case Observing::histogram: return kHistogramBins;  // elements by bin
    default: return 0;
  }
}

/// The exponent e of a histogram of values between `low` and `high`.
int histogram_exponent(float low, float high);

/// Counts of a histogram of exponent `from` as one of `to`, which is not smaller.
void widen_histogram(std::span<double> counts, int from, int to);

struct ObserverRule {
  Observing method = Observing::minmax;
  CodeGrid grid;
  double share = 1.0;  ///< percentile: of all elements, below the upper end and above the lower one
};

/// `seen`: statistics_of(method) numbers, or none; without any, or all 0, it is the range that counts. The zero point
/// is a code.
AffineParameters observed_parameters(float low, float high, std::span<const double> seen, const ObserverRule& rule);

}  // namespace halfstep::arith
