// Functions that layers compute. The layers of C++ and of Python call them, so both have the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture::layers {

/// One number for each spatial axis.
using Axes = std::vector<int64_t>;

/// One number for each of `count` axes. A list of one number stands for all axes. Throws Error for a list of another
/// length. `setting` names it: "Conv2d: stride".
Axes by_axis(const Axes& numbers, size_t count, const std::string& setting);

Array reshaped(const Array& x, const Dims& dims);
Array transposed(const Array& x, const Dims& perm);
/// Elements of `x` along the first axis, from `first` up to `last`.
Array rows(const Array& x, int64_t first, int64_t last);

/// x [..., in] times the transpose of weight [out, in], plus bias.
Array linear(const Array& x, const Array& weight, const Array& bias);

/// Sets each element to zero with probability `rate` and divides the others by 1 - rate.
Array dropout(const Array& x, double rate);

struct Convolution {
  Axes stride, dilation;
  Axes pad;  ///< padding before each axis, then after each
  int64_t groups = 1;
  std::string pad_mode = "constant";  ///< a mode of `pad`
  Axes output_padding = {};           ///< for transposed convolutions
};

/// Cross-correlation of x [n, c, ...] with weight [out, c / groups, ...] over 1 to 3 axes, plus bias. One axis is
/// computed as an image of height 1, which can have integer codes.
Array conv(const Array& x, const Array& weight, const Array& bias, const Convolution& how);

/// The transposed convolution, with weight [c, out / groups, ...].
Array conv_transpose(const Array& x, const Array& weight, const Array& bias, const Convolution& how);

struct Pool {
  Axes kernel, stride, dilation;
  Axes pad;  ///< padding before each axis, then after each
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< for averages
};

/// Largest element and mean of each window of x [n, c, ...] over 1 to 3 axes.
Array max_pool(const Array& x, const Pool& how);
Array avg_pool(const Array& x, const Pool& how);

/// Normalizes x [n, channels, ...]. Without a weight the factors are 1, and without a bias the offsets are 0.
Array instance_norm(const Array& x, const Array& weight, const Array& bias, int64_t channels, double epsilon);
Array group_norm(const Array& x, const Array& weight, const Array& bias, int64_t channels, int64_t groups,
                 double epsilon);

/// x, or below zero weight * x. There is one weight, or one for each channel of the second axis.
Array prelu(const Array& x, const Array& weight);

struct Resampling {
  Axes size = {};                  ///< extents of the result by spatial axis, or empty
  std::vector<double> scale = {};  ///< factors by spatial axis, if there is no size
  std::string mode = "nearest";    ///< nearest, linear, bilinear, bicubic or trilinear
  bool align_corners = false;
};

/// x [n, c, ...] with other spatial extents. Throws Error if the mode is for another number of axes.
Array upsample(const Array& x, const Resampling& how);

}  // namespace halfstep::capture::layers
