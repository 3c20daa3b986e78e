// The float network that gets quantizers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/fold_tails.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/foreign_quantizers.h"

namespace halfstep::quant {

/// Leaves room for the names that are made of others, and nothing that no output depends on. Values of the network that
/// came in and of the prepared one are joined by these names, and layers end alike in both.
void clear_layers(Model& model);

/// The network that `prepare` puts quantizers into: other frameworks' quantizers taken out, layers in the forms that
/// have codes, their tails folded. Where the platform says at which operators quantizers stand, these stay as they are.
Model float_form(const Model& model, const Platform& platform);

/// What became of a network in its float form.
struct Rewritten {
  LearnedMagnitudes learned;               ///< by other frameworks' quantizers
  std::vector<passes::FoldedNorm> folded;  ///< normalizations
  std::set<std::string> means;             ///< operators that give a mean without the axes that it is over
};

/// Makes that form of `model`.
Rewritten rewrite_floats(Model& model, const Platform& platform);

}  // namespace halfstep::quant
