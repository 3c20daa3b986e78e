// What operators state of themselves in the `quant:` block of their records, as questions.
#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// False for a null Op.
bool has_trait(Op op, Trait trait);

/// Whether the graph is one of our two roads: reals become codes of ours in it, or codes reals.
bool computes_on_codes(const Graph& graph);

/// Makes an accumulator that needs a requantization: an operator with weights, a sum, a product, a mean.
bool accumulates(Op op);

/// Computes on codes by a rule of its own: an accumulator, a table, a normalization.
bool computes_codes(Op op);

/// Gives out the codes that it takes in, in other places or fewer.
bool moves_codes(Op op);

/// Whether a port is read as reals or whole numbers by an operator on codes: a bias, what normalized elements are
/// multiplied by, indices.
bool is_number_port(const QuantInfo& quant, int port);

/// Operands that carry features: all but the weight, numbers, and what fills empty places, and none that is absent.
std::vector<Value> feature_inputs(Op op);

/// The value whose codes `value` has, seen through operators that move codes (the first of several).
Value unmoved(Value value);

}  // namespace halfstep::passes
