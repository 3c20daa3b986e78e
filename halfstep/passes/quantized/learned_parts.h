// What training moves in place of the tensors that a network computes with: normalizations inside weights, and
// quantizers that learn in ways of their own.
#pragma once

#include <set>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Tensors of a Model by name. Those that are learned need no reader in its graph.
struct LearnedParts {
  std::set<std::string> learned;  ///< what training moves, or reads, in place of those that are made of it
  std::set<std::string> settled;  ///< what settle_learned_parts makes
};
LearnedParts learned_parts(const Model& model);

/// Tensors made anew of what training moves in their place.
void settle_learned_parts(Model& model);

/// The same for good: nothing else is left of them.
void close_learned_parts(Model& model);

}  // namespace halfstep::passes
