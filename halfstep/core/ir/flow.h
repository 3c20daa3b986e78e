// Control flow: what the regions of an operation take and give, by the `flow` of its record.
//
// A region is isolated: it reads its arguments and tensors, and nothing else from outside. Its arguments stand for loop
// states, elements of scanned values and captured values, in this order; it gives the next condition (of a loop), the
// next states, and values that are stacked (of a loop or a scan) or are the results (of a branch or a call). Of a
// backward, the region `step` does so and gives nothing to stack; `back` takes carried values and elements of rows
// behind these, and gives the next carried values and what is stacked.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// How the operands, region arguments and results of an operation with regions are divided. Throws Error where
/// attributes and operands do not fit each other.
struct FlowParts {
  explicit FlowParts(Op op);

  size_t first = 0;       ///< operands before the values: the condition of a branch or a loop
  size_t states = 0;      ///< of a loop or a scan
  size_t scanned = 0;     ///< of a scan
  size_t captured = 0;    ///< the remaining operands
  size_t carried = 0;     ///< of a backward, behind those that are captured
  size_t rows = 0;        ///< the same; the last of all
  size_t conditions = 0;  ///< region outputs before the states: the next condition of a loop

  /// What an iteration of a loop or a scan takes.
  size_t taken() const { return states + scanned + captured; }
  size_t values() const { return taken() + carried + rows; }
};

/// The types of the results, from the operands and from what the regions give. Throws Error where a region does not
/// take or give what it has to: the message says which, what was found and what is expected.
std::vector<Type> flow_results(Op op);

/// Gives region arguments the types that operands have and infers what is in the regions, outermost first. An extent of
/// a loop state that the iterations change becomes unknown.
void infer_regions(Op op);

/// Whether the operation is inside of a branch or a loop, and not in the graph's body.
inline bool is_in_region(Op op) { return static_cast<bool>(op.node()->block->parent()); }

/// "while 'loop': if 'branch'": the operations around one, outermost first; "" in the graph's body.
std::string holders_of(Op op);
/// The same in front of what is said of it: "while 'loop': if 'branch': ".
std::string path_to(Op op);

}  // namespace halfstep
