// Random changes of images, only for training.
#pragma once

#include <cstdint>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/data/pipeline/options.h"

namespace halfstep::data {

struct Augment : AugmentFields {
  bool any() const { return flip || shift > 0; }
  /// Example: "flip, shift 4", or "none".
  std::string text() const;
  /// Throws unless samples of this shape are images [c, h, w] larger than the shift.
  void check(const Dims& sample, const std::string& data) const;
  /// Changes the images of a step, f32 [n, c, h, w]. The change of each image depends only on (seed, step, position).
  /// Pixels from outside of the image are `outside`.
  Tensor apply(const Tensor& x, uint64_t seed, uint64_t step, float outside = 0) const;
};

}  // namespace halfstep::data
