// Observes the effect of a quantizer on its input values.
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

/// A channel with a much larger range than the others.
struct Outlier {
  int64_t channel = 0;
  double ratio = 0;  ///< its largest magnitude divided by the median over all channels
};

/// Least ratio of an outlier.
inline constexpr double kOutlier = 5;

struct Watched {
  Likeness alone;                     ///< float network's values before and after the quantizer
  std::optional<Likeness> reached;    ///< activations only: float network's values, and those of the quantized network
  int64_t elements = 0, clipped = 0;  ///< clipped: the code before the clamp is out of range
  std::optional<double> unused;       ///< share of unused codes, absent for uneven levels
  float low = 0, high = 0;            ///< extremes of the values
  float code_low = 0, code_high = 0;  ///< representable range, the outermost over channels
  Histogram histogram;
  /// Bits that the median channel does not use at the upper end of its codes: 0 if it uses the whole range, 1 if it
  /// uses half. Absent for uneven levels.
  std::optional<double> wasted;
  double spread = 1;                   ///< largest magnitude of a channel divided by the median over channels
  std::vector<Outlier> outliers = {};  ///< largest first
};

/// Channel axis of an activation: 1 for images and rows, 2 for three axes, -1 for other shapes.
int64_t channel_axis(const Dims& dims);

/// The lower median. `values` must not be empty.
template <class T>
T median_of(std::vector<T> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Accumulates statistics of a quantizer's values. Elements are in the order of a tensor.
class Watch {
 public:
  /// `axis`: channel axis for comparisons between channels, or -1. `others`: quantizers to try on the same values.
  Watch(Rounder rounder, int64_t axis, std::vector<Rounder> others);

  /// Adds values of the float network.
  void add(const Tensor& x);
  /// Applies the other quantizers to values of the float network.
  void try_others(const Tensor& x);
  /// Adds the values of the float network, and those of the quantized network at the same position.
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
  std::vector<uint8_t> used_;  ///< by code: whether a value has it
  std::vector<double> bins_;
  int exponent_ = 0;               ///< bins range from -2^exponent to 2^exponent
  double bins_of_one_ = 1;         ///< number of bins for a difference of 1
  std::vector<float> magnitudes_;  ///< largest magnitude by channel
  int64_t not_finite_ = 0;
};

}  // namespace halfstep::sensitivity
