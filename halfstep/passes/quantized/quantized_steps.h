// Splits a prepared graph into steps that run on codes, each with its quantizer. Training and conversion build from
// these steps.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

enum class StepKind {
  input,  ///< quantizer of a graph argument, a tensor or the result of an operator on real values: float in, codes out
  compute,  ///< an operator, optionally an activation, and the quantizer of its result
  rescale,  ///< a quantizer of a value that already has codes
  move,     ///< an operator that only moves codes, without quantizer
  rank,     ///< an operator that reads codes and outputs only positions
  real      ///< an operator that computes in float, without quantizer
};

struct QuantizedStep {
  StepKind kind;
  Op main;                      ///< set for compute, move, rank and real
  Op activation;                ///< compute: the fused activation, or null
  ops::FakeQuantize quantizer;  ///< set for input, compute and rescale
  ops::FakeQuantize weight;     ///< compute of a weighted operator: the quantizer of its weight

  /// Name of the step's codes: the name of the operator, or of the quantizer if there is no operator.
  const std::string& name() const { return main ? main.name() : quantizer.name(); }
  /// Whether the first result of the step has codes.
  bool has_codes() const { return kind != StepKind::rank && kind != StepKind::real; }
  /// Returns the float value that the codes of the step represent. For an operator on real values and for one that
  /// outputs positions it is the first result.
  Value result() const { return quantizer ? quantizer.out() : main.out(0); }
  /// Returns the results of an operator on codes that have positions of elements.
  std::vector<Value> places() const;
  /// Returns the values that must have codes: the operator's inputs without weight and bias, or the input of the
  /// quantizer. Empty for an operator on real values.
  std::vector<Value> coded_inputs() const;
  /// "relu6", or "none".
  std::string activation_name() const;
  /// Slope of a fused leaky_relu below zero. Without one it is the default of the record, which nothing reads.
  double alpha() const;
  /// Whether the operator becomes a table.
  bool is_lookup() const;
  /// Sign by operand: -1 for the subtrahend of a difference, which is computed as a sum.
  float sign(size_t operand) const { return operand == 1 && main.is<ops::Sub>() ? -1.0F : 1.0F; }
};

/// Returns steps in the order of the graph. Every quantizer is in one step, and so is every operator except observers.
/// Steps of kind `real` are the float_operators of the Model's metadata, and all other operators must have codes.
/// Throws unsupported, naming the operator, if graph and metadata disagree: a quantizer outside of all patterns, or a
/// result without quantizer.
std::vector<QuantizedStep> quantized_steps(const Model& model);

/// Returns the tensor of a quantizer's scale operand, traced back through the power-of-two rounding of a learned scale.
Value scale_tensor(const ops::FakeQuantize& quantizer);

}  // namespace halfstep::passes
