// Resizes images: bilinear with antialiasing, like Pillow and torchvision.
#pragma once

#include "halfstep/core/base/tensor.h"

namespace halfstep::data {

/// Resamples `x` (u8 or f32) to `extent` elements along `axis`, from n. The centre of element i is m = (i + 1/2) * n /
/// extent. The element is the weighted mean of the input around m. The weights form a triangle of height 1 at m that
/// reaches 0 at the distance max(1, n / extent). They are computed in float64 in this order and normalized to the sum
/// 1. For u8 they are integer multiples of 2^-22, and the sum is rounded half up. f32 is summed in float64. Results are
/// the same on every machine.
Tensor resample(const Tensor& x, size_t axis, int64_t extent);
/// Element i is the input at the centre m, rounded down, of any type.
Tensor resample_nearest(const Tensor& x, size_t axis, int64_t extent);

}  // namespace halfstep::data
