// Scale and zero point from the statistics of an observer. docs/arithmetic.md, section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "halfstep/core/arith/range.h"

namespace halfstep::arith {

/// Method of an observer: how it summarizes a batch and derives parameters.
enum class Observing {
  minmax,       ///< minimum and maximum
  mse,          ///< candidate range with the smallest error, shrunk from the extremes
  quantile,     ///< extremes, clipped at a quantile of the magnitudes
  clip_std,     ///< mean plus or minus some standard deviations, within the extremes
  widen_std,    ///< mean plus or minus some standard deviations, widened to the extremes (MQBench's ClipStdObserver)
  lsq,          ///< initial learned scale: 2 mean(|x|) / sqrt(code_max)
  lsq_plus,     ///< initial learned scale: three standard deviations around the mean, over all codes
  power_floor,  ///< power of two with the smallest error, from the one above the scale of the extremes downwards
  power_mode,   ///< power of two as in power_floor, the most frequent over all batches
  percentile,   ///< all data, with a share clipped at either end
  kl,           ///< all data, the range whose codes have the nearest distribution
  histogram     ///< all data, the range with the smallest squared error
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

/// Number of equal bins between -2^e and 2^e. e is the least exponent for which all extremes are inside. Bins nest when
/// e grows, so a histogram does not depend on the order of the data.
inline constexpr int kHistogramBins = 2048;
/// Slots for exponents of powers of two: scale 2^-e has slot e - kLowestExponent.
inline constexpr int kExponents = 64;
inline constexpr int kLowestExponent = -51;

/// Returns how many numbers an observer stores per channel in addition to the extremes.
constexpr int statistics_of(Observing method) {
  switch (method) {
    case Observing::lsq: return 1;       // mean of magnitudes
    case Observing::lsq_plus: return 2;  // mean, deviation
    case Observing::power_floor:
    case Observing::power_mode: return kExponents;  // how often each exponent was the best
    case Observing::percentile:
    case Observing::kl:
    case Observing::histogram: return kHistogramBins;  // elements by bin
    default: return 0;
  }
}

/// Returns the exponent e of a histogram of values between `low` and `high`.
int histogram_exponent(float low, float high);

/// Converts the counts of a histogram from exponent `from` to exponent `to`, which must be >= `from`.
void widen_histogram(std::span<double> counts, int from, int to);

struct ObserverRule {
  Observing method = Observing::minmax;
  CodeGrid grid;
  double share = 1.0;  ///< percentile: share of all elements below the upper end, and above the lower end
};

/// Derives parameters from the statistics. `seen` has statistics_of(method) numbers, or none. If it is empty or all 0,
/// only the range decides. The zero point is a code.
AffineParameters observed_parameters(float low, float high, std::span<const double> seen, const ObserverRule& rule);

}  // namespace halfstep::arith
