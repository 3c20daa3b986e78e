// Reads a prepared graph as the steps that run on codes: which quantizer closes which operator. Training and conversion
// build from it.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

enum class StepKind {
  input,    ///< quantizer of a graph argument, a tensor or a real operator's result: float in, codes out
  compute,  ///< an operator, perhaps an activation, and the quantizer of its result
  rescale,  ///< a quantizer of a value that has codes already
  move,     ///< an operator that only moves codes; no quantizer
  real      ///< an operator that computes in float; no quantizer
};

struct QuantizedStep {
  StepKind kind;
  Op main;                      ///< compute, move and real
  Op activation;                ///< compute: fused, or null
  ops::FakeQuantize quantizer;  ///< input, compute and rescale
  ops::FakeQuantize weight;     ///< compute of a weighted operator: the quantizer of its weight

  /// The name of the step's codes: that of the operator, or of the quantizer where there is none.
  const std::string& name() const { return main ? main.name() : quantizer.name(); }
  /// The float value whose codes the step gives; of a real operator its first result.
  Value result() const { return quantizer ? quantizer.out() : main.out(0); }
  /// Values that must have codes: the operator's inputs without weight and bias, or what the quantizer reads; none of a
  /// real operator.
  std::vector<Value> coded_inputs() const;
  /// "relu6", or "none".
  std::string activation_name() const;
  /// Slope of a fused leaky_relu below zero; without one what its record has by default, which nothing reads.
  double alpha() const;
  /// Whether the operator becomes a table.
  bool is_lookup() const;
  /// By operand: -1 for what a difference takes away, which is a sum with the other sign.
  float sign(size_t operand) const { return operand == 1 && main.is<ops::Sub>() ? -1.0F : 1.0F; }
};

/// Steps in the order of the graph. Every quantizer is in one step, and every operator but observers: float_operators
/// of the Model's metadata are real steps, all others must have codes. Throws unsupported, naming the operator, where
/// the graph and they disagree: a quantizer that no pattern takes in, a result that no quantizer takes.
std::vector<QuantizedStep> quantized_steps(const Model& model);

/// The tensor behind a quantizer's scale operand, seen through the power-of-two rounding of a learned scale.
Value scale_tensor(const ops::FakeQuantize& quantizer);

}  // namespace halfstep::passes
