// Bounds for the distance between a layer's codes and its float operator. docs/arithmetic.md, section 12, has the
// proofs.
#pragma once

#include <cstddef>
#include <vector>

#include "halfstep/core/ir/graph.h"
#include "halfstep/verify/equivalence/codings.h"

namespace halfstep::verify {

/// Let r be the real result in steps of the scale, saturated to the representable range. A layer's code differs from r
/// + middle + zero point by at most 1/2 + relative * |r| + absolute.
struct CodeBound {
  double middle = 0;  ///< -1/2 if a shift truncates
  double relative = 0;
  std::vector<double> absolute = {0};  ///< one value, or one for each output channel
  size_t axis = 1;                     ///< axis of output channels

  double at(double steps, size_t channel) const;
  void add(const CodeBound& other);
};

/// Properties of a layer with weights on which its bound depends, in addition to the formats.
struct WeightFacts {
  std::vector<double> scales;  ///< scales of the weights, by output channel or one
  std::vector<double> bias;    ///< by output channel, empty without a bias
  int64_t taps = 0;            ///< number of products in one element
  double slope = 1;            ///< largest slope of a fused activation function
  size_t axis = 1;             ///< axis of output channels
};

/// The bound of an operator of the integer program with operands of formats `x` and a result of format `y`. `weights`
/// is null for an operator without weights. Throws Error for an operator without a proved bound.
CodeBound code_bound(Op op, const std::vector<CodeFormat>& x, const CodeFormat& y, const WeightFacts* weights);

/// The bound of integer_norm, whose factors and biases are in `tensors`.
CodeBound norm_bound(Op op, const Tensors& tensors);

}  // namespace halfstep::verify
