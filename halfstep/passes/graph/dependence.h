// What the values of a network depend on besides tensors.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

struct Dependence {
  bool samples = false;  ///< on elements of arguments, or on how many samples there are
  bool lengths = false;  ///< on an open extent other than the batch: its numbers are others where inputs are longer
};

/// Open axes of arguments but the first, which is the batch, by argument: where `dims` is kUnknown.
std::map<std::string, Dims> open_lengths(const Graph& graph);

/// Of every value that an operation gives, by name. What is inside of a region depends on all that its operation reads.
/// Whether a condition holds depends on no length: a mask has the same numbers however long it is. `extents`: of every
/// argument, such that the network runs with them.
std::map<std::string, Dependence> dependences(const Model& model, const std::map<std::string, Dims>& extents);

}  // namespace halfstep::passes
