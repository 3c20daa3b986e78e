// Derivatives by central differences of the reference kernel.
#pragma once

#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {

/// A copy with all floats in f64. An undefined tensor stays undefined.
Tensor widened(const Tensor& tensor);

/// The function sum(out_grad * output) of the operands of one operator, over all outputs with a gradient.
class Differences {
 public:
  /// Evaluates in f64 if record and reference support it, otherwise in the types of the operands.
  /// `out_grads` has a tensor for each output port, undefined if the output counts as constant.
  Differences(const Problem& problem, std::vector<Tensor> operands, std::vector<Tensor> out_grads);

  /// Bound of the error from rounding and step size, relative to the largest derivative.
  double tolerance() const;

  /// The derivative along `direction`, pairs of flat index and component. Other elements do not change.
  double derivative(size_t operand, const std::vector<std::pair<int64_t, double>>& direction);

 private:
  double value() const;
  double step() const;
  bool widen(const Problem& problem);

  std::vector<Tensor> operands_;
  std::vector<Tensor> out_grads_;
  Single single_;
  bool wide_ = false;  ///< operands and outputs are in f64
};

}  // namespace halfstep::verify
