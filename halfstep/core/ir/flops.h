// Arithmetic operations of a graph, computed from types and from the records of operators.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Number of arithmetic operations of one operator application. A multiplication and an addition count as two. Uses
/// `flops:` of the record, else one per element of the largest operand or result. kUnknown if an extent is unknown.
int64_t flops(Op op);

/// Returns the sum over all operations, or kUnknown if the number of any operation is unknown.
int64_t flops(const Graph& graph);

}  // namespace halfstep
