// Gradients: expressions of operator calls, checked against the records of these operators.
//
// A pointwise operator may define a gradient as a scalar expression. It becomes a separate operator, NAME_grad_PORT,
// and the gradient becomes a call of it.
#pragma once

#include <map>
#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// The `grad:` blocks, by operator.
using GradientBlocks = std::map<std::string, Yaml>;

/// Reads the blocks into the records, adds the synthesized operators to `records`, then checks every call. Afterwards
/// every argument of a call has a name: a port or an attribute of the called operator.
void resolve_gradients(Records& records, const GradientBlocks& blocks);

}  // namespace halfstep::opgen
