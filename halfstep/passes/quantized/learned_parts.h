// Tensors that training changes in place of the tensors that a network computes with: normalizations inside weights,
// and quantizers with learned parameters.
#pragma once

#include <set>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Tensors of a Model by name. Learned tensors need no reader in its graph.
struct LearnedParts {
  std::set<std::string> learned;  ///< tensors that training changes or reads instead of the tensors derived from them
  std::set<std::string> settled;  ///< tensors that settle_learned_parts computes
};
LearnedParts learned_parts(const Model& model);

/// Recomputes derived tensors from the tensors that training changed.
void settle_learned_parts(Model& model);

/// Recomputes derived tensors and removes the tensors that training changed.
void close_learned_parts(Model& model);

}  // namespace halfstep::passes
