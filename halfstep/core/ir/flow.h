// Control flow: arguments and outputs of the regions of an operation, by the `flow` of its record.
//
// A region is isolated: it reads only its arguments and tensors. Its arguments are loop states, elements of scanned
// values and captured values, in this order. Its outputs are the next condition (of a loop), the next states, and
// further values. These are stacked (loop or scan) or are the results (branch or call).
//
// A backward has two regions. `step` has the arguments and outputs above but no stacked outputs. `back` takes, after
// these arguments, carried values and elements of rows. It outputs the next carried values and the stacked values.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Numbers of operands, region arguments and results of an operation with regions, by role. Throws Error if attributes
/// and operands do not match.
struct FlowParts {
  explicit FlowParts(Op op);

  size_t first = 0;       ///< operands before the values: the condition of a branch or a loop
  size_t states = 0;      ///< states of a loop or a scan
  size_t scanned = 0;     ///< scanned values of a scan
  size_t captured = 0;    ///< the remaining operands
  size_t carried = 0;     ///< carried values of a backward, after the captured ones
  size_t rows = 0;        ///< rows of a backward, the last operands
  size_t conditions = 0;  ///< region outputs before the states: the next condition of a loop

  /// Number of values that an iteration of a loop or a scan takes.
  size_t taken() const { return states + scanned + captured; }
  size_t values() const { return taken() + carried + rows; }
};

/// Returns the types of the results, from the operands and the region outputs. Throws Error if region arguments or
/// outputs do not match. The message names the region, the actual and the expected type.
std::vector<Type> flow_results(Op op);

/// Sets region argument types from the operands and infers types inside the regions, outermost first. An extent of a
/// loop state that changes between iterations becomes unknown.
void infer_regions(Op op);

/// Whether the operation is inside a region of a branch or a loop, not in the graph's body.
inline bool is_in_region(Op op) { return static_cast<bool>(op.node()->block->parent()); }

/// Returns the enclosing operations, outermost first: "while 'loop': if 'branch'". "" in the graph's body.
std::string holders_of(Op op);
/// Returns holders_of as a prefix for messages: "while 'loop': if 'branch': ".
std::string path_to(Op op);

}  // namespace halfstep
