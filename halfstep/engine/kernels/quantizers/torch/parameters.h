// Where a fake quantizer's scales and zero points come from, for the host and for CUDA.
#pragma once

#include "halfstep/engine/kernels/common/numbers.h"
#include "halfstep/engine/kernels/quantizers/torch/rule.h"

namespace halfstep::kernels::torch {

/// How the zero point of a channel is taken.
enum class ZeroPointForm {
  fixed,     ///< an attribute, as the scale is
  stored,    ///< as it is
  cut,       ///< towards zero
  nearest,   ///< half to even, then clamped to the codes
  truncated  ///< as the backward pass of a learned scale of a tensor takes it
};

/// Which zero points are legal.
enum class ZeroPointRange { any, codes, numbers };

/// The parameters of each channel, or of all.
struct ParameterSource {
  ZeroPointForm form = ZeroPointForm::fixed;
  ZeroPointRange range = ZeroPointRange::any;
  Grid grid;
  Parameters fixed;
  Numbers scale, zero_point;  ///< unless `fixed`

  HS_HOST_DEVICE Parameters of(int64_t channel) const {
    if (form == ZeroPointForm::fixed) return fixed;
    const auto zero = static_cast<float>(zero_point.at<double>(channel));
    const auto step = static_cast<float>(scale.at<double>(channel));
    switch (form) {
      case ZeroPointForm::cut: return Parameters::of(step, std::trunc(zero) + 0.0F);
      case ZeroPointForm::nearest: return Parameters::of(step, nearest_zero_point(zero, grid));
      case ZeroPointForm::truncated: return Parameters::of(step, truncated_zero_point(zero, grid));
      default: return Parameters::of(step, zero);
    }
  }

  /// Whether a zero point may be illegal.
  bool checks() const { return range != ZeroPointRange::any; }
  HS_HOST_DEVICE bool is_legal(double zero) const {
    if (range == ZeroPointRange::codes) return !(zero < grid.low || zero > grid.high);
    return range == ZeroPointRange::any || zero == zero;
  }
  HS_HOST_DEVICE bool is_legal_at(int64_t channel) const {
    return range == ZeroPointRange::any || is_legal(zero_point.at<double>(channel));
  }
};

}  // namespace halfstep::kernels::torch
