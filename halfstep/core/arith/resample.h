// Sources and weights of resized tensors. docs/arithmetic.md, A5.30.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::arith {

/// The attributes of the operator resize.
struct Resampling {
  std::vector<int64_t> sizes = {};
  std::vector<double> scales = {};
  std::vector<int64_t> axes = {};
  std::vector<double> roi = {};
  std::string policy = "stretch", mode = "nearest", nearest_mode = "round_prefer_floor", coordinates = "half_pixel";
  double cubic_coeff_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

/// Sources of the elements along one axis of the result: `width` elements of the operand each, with their weights.
struct ResampledAxis {
  size_t axis = 0;
  int64_t in = 0, out = 0, width = 1;
  std::vector<int64_t> places;
  std::vector<double> weights;
  std::vector<bool> outside;  ///< elements of the result that are extrapolated
};

/// Returns the axes that change, in order. All extents are known.
std::vector<ResampledAxis> resampled_axes(const Resampling& resampling, const Dims& x, const Dims& out);

/// Bits of the integer weights of one axis where `axes` axes change: the weights of an element add up to 2^bits.
int weight_bits(size_t axes);

/// Returns the weights as integers that add up to 2^bits for each element of the result: rounded (half to even), then
/// the largest one, the first of equals, takes the rest.
std::vector<int32_t> integer_weights(const ResampledAxis& axis, int bits);

}  // namespace halfstep::arith
