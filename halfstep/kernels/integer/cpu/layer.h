// integer_conv2d and integer_linear as one thing.
#pragma once

#include <array>

#include "halfstep/arith/requantizer.h"
#include "halfstep/kernels/integer/step.h"
#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels::integer {

/// Vertical, horizontal.
using Pair = std::array<int64_t, 2>;

/// A convolution. A matrix product is one of 1x1 over a single image of one column whose rows are the batch.
struct Layer {
  bool linear = false;
  int64_t images = 1;
  int64_t groups = 1;
  int64_t channels = 1;  ///< input channels of a group
  int64_t outputs = 1;   ///< output channels of a group
  Pair in = {1, 1};      ///< extents of an input image, without padding
  Pair out = {1, 1};
  Pair kernel = {1, 1};
  Pair stride = {1, 1};
  Pair dilation = {1, 1};
  Pair pad = {0, 0};     ///< top and left
  bool wide_in = false;  ///< u16 codes, else u8
  bool wide_out = false;
  int32_t x_zero_point = 0;
  int32_t y_zero_point = 0;
  arith::Clamp clamp;
  StepForm form;
  int64_t step_count = 1;  ///< entries of the shifts and multipliers, or of the weights' scales

  int64_t weights_of_output() const { return channels * kernel[0] * kernel[1]; }
};

Layer layer_of(const Problem& problem);

}  // namespace halfstep::kernels::integer
