// Gradients: expressions that call operators, checked against the records they call.
//
// A pointwise operator may write a gradient as scalars; it becomes an operator of its own, NAME_grad_PORT, and a call
// of it.
#pragma once

#include <map>
#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// The `grad:` blocks by operator.
using GradientBlocks = std::map<std::string, Yaml>;

/// Reads the blocks into the records, adds the synthesized operators to `records`, then checks every call.
/// Afterwards all arguments of a call are named, by port or attribute of the operator it calls.
void resolve_gradients(Records& records, const GradientBlocks& blocks);

}  // namespace halfstep::opgen
