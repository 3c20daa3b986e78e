// Results of layers that a network learns from its float form, beside its outputs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/train/evaluate/standing.h"

namespace halfstep::train {

struct Wide {
  Model model;                     ///< with features as further outputs
  std::set<std::string> features;  ///< their names among its outputs, of which some may have been outputs before
};

/// `model` with the results of layers as outputs, those that one of `patterns` fits: what is quantized for a layer as
/// its quantizer gives it. Throws bad_input for a pattern that fits no layer of floats.
Wide with_features(const Model& model, const std::vector<std::string>& patterns);

/// The spreads of what a teacher gives and a step learns from.
struct Taught {
  Spreads outputs, features;  ///< outputs: empty where the network learns from labels
};
/// `spreads`: of the outputs of `wide`, which is `model` with features. An output that is a feature too counts once.
Taught taught_by(Spreads spreads, const Wide& wide, const Model& model, bool learns_outputs);

}  // namespace halfstep::train
