// The function of one quantizer on numbers, see docs/arithmetic.md, section 2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/arith/code.h"
#include "halfstep/core/arith/levels.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::sensitivity {

class Rounder {
 public:
  /// Uses scales and zero points by channel, or one of each.
  Rounder(const ops::FakeQuantize& quantizer, QuantizerKind kind, std::vector<float> scale,
          std::vector<int32_t> zero_point);
  /// Uses the scales and zero points of the quantizer.
  Rounder(const Model& model, const ops::FakeQuantize& quantizer, QuantizerKind kind);

  /// The rounded value of a number.
  struct Rounded {
    float value = 0;
    bool is_clipped = false;
    int32_t code = 0;  ///< from 0, undefined for unevenly spaced levels
  };
  Rounded operator()(float x, size_t channel) const;
  /// The representable range of a channel, as real values.
  struct Ends {
    float low = 0, high = 0;
  };
  Ends ends(size_t channel) const;
  /// Distance of two consecutive codes. Undefined for unevenly spaced levels.
  float step(size_t channel) const { return scale_[channel]; }

  int64_t axis() const { return axis_; }
  size_t channels() const { return scale_.size(); }
  /// Number of codes, 0 for unevenly spaced levels.
  size_t codes() const;
  /// The representable range over all channels, including 0.
  float low() const;
  float high() const;

 private:
  Rounded on_levels(float x, float scale, int32_t zero_point) const;

  arith::CodeRule rule_;
  std::optional<arith::Levels> levels_;
  std::vector<float> scale_;
  std::vector<int32_t> zero_point_;
  int64_t axis_;
};

/// Maps elements to channels along an axis: element i of the tensor has channel i / step % count. A negative axis has
/// one channel.
struct Channels {
  size_t step = 1, count = 1;

  Channels(const Dims& dims, int64_t axis);
  size_t of(size_t element) const { return element / step % count; }
  /// Number of consecutive elements of the same channel, in a tensor of `size` elements.
  size_t run(size_t size) const { return count > 1 ? step : size; }
};

inline Rounder::Rounded Rounder::operator()(float x, size_t channel) const {
  const float scale = scale_[channel];
  const int32_t zero_point = zero_point_[channel];
  if (levels_) return on_levels(x, scale, zero_point);
  const float unclamped = arith::unclamped_code(x, scale, zero_point, rule_);
  const int32_t code = arith::clamp_code(unclamped, rule_);
  return {arith::real_of(code, scale, zero_point), !arith::passes_gradient(unclamped, rule_), code - rule_.code_min};
}

}  // namespace halfstep::sensitivity
