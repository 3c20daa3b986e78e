// Layer results that a network learns from its float form, in addition to its outputs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/train/evaluate/history.h"

namespace halfstep::train {

struct Wide {
  Model model;                        ///< the network with activations as further outputs
  std::set<std::string> activations;  ///< their output names, possibly including original outputs
};

/// `model` with the results of layers that match one of `patterns` as further outputs. If a quantizer follows a layer,
/// its quantized result is used. Throws bad_input if a pattern matches no layer of floats.
Wide with_activations(const Model& model, const std::vector<std::string>& patterns);

/// Spreads of the teacher's values that a training step uses.
struct DistillationTargets {
  Spreads outputs, activations;  ///< outputs is empty if the network learns from labels
};
/// `spreads` are those of the outputs of `wide`, which is `model` with activations. An output that is also an
/// activation counts once.
DistillationTargets distillation_targets(Spreads spreads, const Wide& wide, const Model& model, bool learns_outputs);

}  // namespace halfstep::train
