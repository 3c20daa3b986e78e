// One quantizer as a function on numbers: docs/arithmetic.md, section 2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/arith/code.h"
#include "halfstep/arith/levels.h"
#include "halfstep/ir/learned_quantizer.h"
#include "halfstep/ir/ops.h"

namespace halfstep::analyze {

class Rounder {
 public:
  /// With scales and zero points by channel, or one of each.
  Rounder(const ops::FakeQuantize& quantizer, QuantizerKind kind, std::vector<float> scale,
          std::vector<int32_t> zero_point);
  /// With those that the quantizer applies.
  Rounder(const Model& model, const ops::FakeQuantize& quantizer, QuantizerKind kind);

  /// What becomes of a number.
  struct Rounded {
    float value = 0;
    bool is_clipped = false;
    int32_t code = 0;  ///< from 0 on; meaningless where levels are not evenly spaced
  };
  Rounded operator()(float x, size_t channel) const;

  int64_t axis() const { return axis_; }
  /// 0 where levels are not evenly spaced.
  size_t codes() const;
  /// The reals that codes reach, of all channels.
  float low() const;
  float high() const;

 private:
  arith::CodeRule rule_;
  std::optional<arith::Levels> levels_;
  std::vector<float> scale_;
  std::vector<int32_t> zero_point_;
  int64_t axis_;
};

/// How far elements of an axis are apart, and how many it has: element i of the tensor belongs to i / step % count. An
/// axis below 0 has one.
struct Channels {
  size_t step = 1, count = 1;

  Channels(const Dims& dims, int64_t axis);
  size_t of(size_t element) const { return element / step % count; }
};

}  // namespace halfstep::analyze
