// Reads a prepared graph as the steps that run on codes: which quantizer closes which operator. Training and conversion
// build from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/ir/graph.h"
#include "halfstep/ir/ops.h"

namespace halfstep::passes {

enum class StepKind {
  input,    ///< quantizer of a graph argument or of a real operator's result: float in, codes out
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
  /// Height and width that a global pool averages over: to the operators on codes it is a pool of one window.
  std::optional<std::vector<int64_t>> global_window() const;
  /// Whether the operator becomes a table.
  bool is_lookup() const;
};

/// Steps in an order in which they can run. Every quantizer is in one step and every operator but observers too: those
/// that have no form on codes, or that no quantizer closes, are real steps. A layer with weights is never one: an error
/// (unsupported) says which is left over and why.
std::vector<QuantizedStep> quantized_steps(const Graph& graph);

/// The tensor behind a quantizer's scale operand, seen through the power-of-two rounding of a learned scale.
Value scale_tensor(const ops::FakeQuantize& quantizer);

}  // namespace halfstep::passes
