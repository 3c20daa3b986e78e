// What operators state of themselves in the `quant:` block of their records, as questions.
#pragma once

#include <vector>

#include "halfstep/ir/graph.h"

namespace halfstep::passes {

/// False for a null Op.
bool has_trait(Op op, Trait trait);

/// Whether the graph is one of our two roads: reals become codes of ours in it.
bool computes_on_codes(const Graph& graph);

/// Makes an accumulator that needs a requantization: an operator with weights, a sum, a product, a mean.
bool accumulates(Op op);

/// Gives out the codes that it takes in, in other places or fewer.
bool moves_codes(Op op);

/// Operands that carry features: all but the weight, the bias and what fills empty places, and none that is absent.
std::vector<Value> feature_inputs(Op op);

/// The value whose codes `value` has, seen through operators that move codes (the first of several).
Value unmoved(Value value);

}  // namespace halfstep::passes
