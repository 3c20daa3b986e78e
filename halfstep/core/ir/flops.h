// How much arithmetic a graph is, from its types and what the records say of their operators.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Operations of one application, a multiplication and an addition being two: by the record's `flops:`, else one for
/// each element of its largest operand or result. kUnknown where an extent is.
int64_t flops(Op op);

/// The sum over all operations; kUnknown where one is.
int64_t flops(const Graph& graph);

}  // namespace halfstep
