#include "halfstep/verify/operators/differences.h"

#include <cmath>

#include "halfstep/core/base/element_values.h"

namespace halfstep::verify {

Tensor widened(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const DType dtype = tensor.dtype();
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) return tensor.clone();
  Tensor wide(DType::f64, tensor.dims());
  for (int64_t i = 0; i < tensor.size(); ++i) set_element(wide, i, element(tensor, i));
  return wide;
}

Differences::Differences(const Problem& problem, std::vector<Tensor> operands, std::vector<Tensor> out_grads)
    : operands_(std::move(operands)), out_grads_(std::move(out_grads)) {
  if (widen(problem)) {
    wide_ = true;
    const std::vector<Tensor> outs = reference_results(single_, operands_);
    for (size_t port = 0; port < outs.size(); ++port)  // an attribute may have set the type of an output
      wide_ = wide_ && (!out_grads_[port].defined() || outs[port].dtype() == DType::f64);
    return;
  }
  for (Tensor& operand : operands_) operand = operand.defined() ? operand.clone() : operand;
  single_ = make_single(problem, operands_, OperandSource::arguments);
}

/// Whether record and reference support f64 in place of every f32. If so, converts the operands.
bool Differences::widen(const Problem& problem) {
  Problem wide = problem;
  std::vector<Tensor> operands;
  for (size_t i = 0; i < operands_.size(); ++i) {
    operands.push_back(widened(operands_[i]));
    if (operands[i].defined()) wide.use.in[i] = operands[i].type();
  }
  try {
    single_ = make_single(wide, operands, OperandSource::arguments);
    reference_results(single_, operands);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return false;
  }
  operands_ = std::move(operands);
  return true;
}

/// f64: the error of the step's square, 1e-12, is smaller than the error of the f32 gradient. f32: with outputs near 1,
/// rounding causes an error of 1e-7 / step, and the step's square one of 2e-4.
double Differences::step() const { return wide_ ? 0x1p-20 : 0x1p-6; }
double Differences::tolerance() const { return wide_ ? 1e-4 : 1e-2; }

double Differences::value() const {
  const std::vector<Tensor> outs = reference_results(single_, operands_);
  double sum = 0;
  for (size_t port = 0; port < outs.size(); ++port) {
    const Tensor& grad = out_grads_[port];
    for (int64_t i = 0; grad.defined() && i < grad.size(); ++i) {
      const double result = element(outs[port], i);  // a masked score is -infinity, and does not change
      if (std::isfinite(result)) sum += element(grad, i) * result;
    }
  }
  return sum;
}

double Differences::derivative(size_t operand, const std::vector<std::pair<int64_t, double>>& direction) {
  Tensor& tensor = operands_[operand];
  const Tensor saved = tensor.clone();
  const auto value_at = [&](double step) {
    for (const auto& [index, slope] : direction) set_element(tensor, index, element(saved, index) + step * slope);
    return value();
  };
  const double above = value_at(step());
  const double below = value_at(-step());
  for (const auto& [index, slope] : direction) set_element(tensor, index, element(saved, index));
  return (above - below) / (2 * step());
}

}  // namespace halfstep::verify
