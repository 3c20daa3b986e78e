// Derivatives by central differences of the reference kernel.
#pragma once

#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {

/// A copy whose floats are in f64; an undefined tensor stays so.
Tensor widened(const Tensor& tensor);

/// The function sum(out_grad * first output) of the operands of one operator.
class Differences {
 public:
  /// Evaluates in f64 where the record and the reference allow it, else in the types that the operands have.
  Differences(const Problem& problem, std::vector<Tensor> operands, Tensor out_grad);

  /// Largest error that rounding and the size of the step leave, relative to the largest derivative.
  double tolerance() const;

  /// Along `direction`, by flat index of the operand; elements that are not in it stay.
  double derivative(size_t operand, const std::vector<std::pair<int64_t, double>>& direction);

 private:
  double value() const;
  double step() const;
  bool widen(const Problem& problem);

  std::vector<Tensor> operands_;
  Tensor out_grad_;
  Single single_;
  bool wide_ = false;
};

}  // namespace halfstep::verify
