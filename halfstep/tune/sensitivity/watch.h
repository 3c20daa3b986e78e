// What a quantizer does to the numbers that come to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/base/sqnr.h"
#include "halfstep/tune/sensitivity/rounder.h"

namespace halfstep::sensitivity {

/// Equal bins from `low` to `high`.
struct Histogram {
  double low = 0, high = 0;
  std::vector<int64_t> counts;
};

/// A channel that reaches far beyond the others.
struct Outlier {
  int64_t channel = 0;
  double ratio = 0;  ///< of its largest magnitude to the median of all channels'
};

/// Channels count as outliers from this many times the median on.
inline constexpr double kOutlier = 5;

struct Watched {
  Likeness alone;                     ///< the float network's values, and what the quantizer makes of them
  std::optional<Likeness> reached;    ///< the same, and what is there in the network of all quantizers; of features
  int64_t elements = 0, clipped = 0;  ///< clipped: the code before the clamp is outside
  std::optional<double> unused;       ///< share of codes that no number has; absent where levels are uneven
  float low = 0, high = 0;            ///< extremes of the numbers
  float code_low = 0, code_high = 0;  ///< that codes reach, the channels' outermost
  Histogram histogram;
  /// Bits that the median channel leaves at the upper end of its codes: 0 where it reaches as far as they do, 1 where
  /// half of them would do. Absent where levels are uneven.
  std::optional<double> wasted;
  double spread = 1;                   ///< the farthest channel's largest magnitude to the median of all
  std::vector<Outlier> outliers = {};  ///< farthest first
};

/// The axis of channels of features: 1 of images and rows, the last of three axes; -1 where there is none.
int64_t channel_axis(const Dims& dims);

/// The lower one of two in the middle. There must be some.
template <class T>
T median_of(std::vector<T> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Adds up what a quantizer sees. Elements come in the order of a tensor.
class Watch {
 public:
  /// `axis`: of channels that are compared with each other, or -1. `others`: quantizers that are tried beside.
  Watch(Rounder rounder, int64_t axis, std::vector<Rounder> others);

  /// Values of the float network.
  void add(const Tensor& x);
  /// What other quantizers would make of them.
  void try_others(const Tensor& x);
  /// What the network of all quantizers has in their place.
  void add_reached(const Tensor& wanted, const Tensor& found);

  int64_t not_finite() const { return not_finite_; }
  const std::vector<Likeness>& others() const { return likenesses_; }
  Watched result() const;

 private:
  void add_run(std::span<const float> values, size_t scale, float& reach);
  void count(float x);
  void set_exponent(int exponent);
  std::optional<double> wasted_bits() const;

  Rounder rounder_;
  int64_t axis_;
  std::vector<Rounder> others_;
  std::vector<Likeness> likenesses_;
  Watched sums_;
  std::vector<uint8_t> used_;  ///< by code, whether a number has it
  std::vector<double> bins_;
  int exponent_ = 0;          ///< bins lie between -2^exponent and 2^exponent
  double bins_of_one_ = 1;    ///< how many bins a real of 1 spans
  std::vector<float> reach_;  ///< largest magnitude of each channel
  int64_t not_finite_ = 0;
};

}  // namespace halfstep::sensitivity
