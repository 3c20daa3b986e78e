// Images as they might have been, for training alone.
#pragma once

#include <cstdint>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/data/pipeline/options.h"

namespace halfstep::data {

struct Augment : AugmentFields {
  bool any() const { return flip || shift > 0; }
  /// "flip, shift 4", or "none".
  std::string text() const;
  /// Throws unless samples of these extents are images, [c, h, w], larger than the shift.
  void check(const Dims& sample, const std::string& data) const;
  /// The images of a step, f32 [n, c, h, w], each by a choice of its own that depends on (seed, step, position) alone.
  Tensor apply(const Tensor& x, uint64_t seed, uint64_t step) const;
};

}  // namespace halfstep::data
