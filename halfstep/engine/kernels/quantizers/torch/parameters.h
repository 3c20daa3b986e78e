// Source of a fake quantizer's scales and zero points, for the host and for CUDA.
#pragma once

#include "halfstep/engine/kernels/common/numbers.h"
#include "halfstep/engine/kernels/quantizers/torch/rule.h"

namespace halfstep::kernels::torch {

/// Conversion of a channel's zero point.
enum class ZeroPointForm {
  fixed,     ///< an attribute, like the scale
  stored,    ///< unchanged
  cut,       ///< rounded towards zero
  nearest,   ///< rounded half to even, then clamped to the codes
  truncated  ///< computed by truncated_zero_point, as in the per-tensor backward pass
};

/// Set of legal zero points.
enum class ZeroPointRange { any, codes, numbers };

/// The parameters of each channel, or of the whole tensor.
struct ParameterSource {
  ZeroPointForm form = ZeroPointForm::fixed;
  ZeroPointRange range = ZeroPointRange::any;
  Grid grid;
  Parameters fixed;
  Numbers scale, zero_point;  ///< operands, unless the form is `fixed`

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

  /// Whether zero points have to be checked.
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
