// Queries on the `quant:` block of operator records.
#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// False for a null Op.
bool has_trait(Op op, Trait trait);

/// Whether the graph quantizes float values to integer codes, or dequantizes codes.
bool computes_on_codes(const Graph& graph);

/// Whether the operation makes an accumulator that needs requantization: an operator with weights, a sum, a product, a
/// mean.
bool accumulates(Op op);

/// Whether the operation computes on codes by a rule of its own: an accumulator, a table, a normalization.
bool computes_codes(Op op);

/// Whether the operation outputs a subset or a permutation of the codes of its input. Its first result has these codes.
/// Further results have positions.
bool moves_codes(Op op);

/// Whether the operation reads codes and outputs only positions.
bool ranks_codes(Op op);

/// Whether an operator on codes reads the port as float values or integers: a bias, the factor of normalized elements,
/// indices.
bool is_number_port(const QuantInfo& quant, int port);

/// Returns the activation operands: all but the weight, numbers, fill values, and absent operands.
std::vector<Value> activation_inputs(Op op);

/// Returns the value whose codes `value` has, traced back through operators that move codes (by their first operand).
Value unmoved(Value value);

}  // namespace halfstep::passes
