// The rule by which images are made larger or smaller: bilinear with antialiasing, as Pillow and torchvision have it.
#pragma once

#include "halfstep/core/base/tensor.h"

namespace halfstep::data {

/// `x` (u8 or f32) with `extent` elements along `axis`. Element i has its middle at m = (i + 1/2) * n / extent of the n
/// elements there were, and is the mean of those around it, each weighted by a triangle of height 1 at m that reaches 0
/// at a distance of max(1, n / extent). Weights are made in float64 in this order and add up to 1. For u8 they are
/// whole numbers of 2^-22 and the sum is rounded half up; f32 adds up in float64. The same on every machine.
Tensor resample(const Tensor& x, size_t axis, int64_t extent);

}  // namespace halfstep::data
