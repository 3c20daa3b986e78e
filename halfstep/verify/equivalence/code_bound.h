// How far a layer's codes may lie from its float operator. docs/arithmetic.md, section 12, has the proofs.
#pragma once

#include <cstddef>
#include <vector>

#include "halfstep/core/ir/graph.h"
#include "halfstep/verify/equivalence/codings.h"

namespace halfstep::verify {

/// With r the real result in steps of the scale, saturated to what has codes, a layer's code lies within 1/2 +
/// relative * |r| + absolute of r + middle + zero point.
struct CodeBound {
  double middle = 0;  ///< -1/2 where a shift drops bits as they are
  double relative = 0;
  std::vector<double> absolute = {0};  ///< one, or one for each output channel
  size_t axis = 1;                     ///< of output channels

  double at(double steps, size_t channel) const;
  void add(const CodeBound& other);
};

/// What the bound of a layer with weights depends on beside the formats.
struct WeightFacts {
  std::vector<double> scales;  ///< of the weights, by output channel or one
  std::vector<double> bias;    ///< by output channel; empty for none
  int64_t taps = 0;            ///< products in one element
  double slope = 1;            ///< largest of an activation that was fused
  size_t axis = 1;             ///< of output channels
};

/// The bound of an operator of the integer program that gives codes of format `y`, from operands of formats `x`.
/// `weights` is null where it has none. Throws Error for an operator whose bound nobody has proved.
CodeBound code_bound(Op op, const std::vector<CodeFormat>& x, const CodeFormat& y, const WeightFacts* weights);

/// That of integer_norm, whose factors and biases are among `tensors`.
CodeBound norm_bound(Op op, const Tensors& tensors);

}  // namespace halfstep::verify
