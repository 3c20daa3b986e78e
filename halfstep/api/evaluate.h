// How right a network is on labelled samples, which may have several labels each (a language model: one a symbol).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/inputs/model.h"
#include "halfstep/api/options.h"
#include "halfstep/data/pipeline/preprocess.h"

namespace halfstep::api {

struct Evaluation {
  Stage stage = Stage::float_network;
  double accuracy = 0;             ///< share of labels that are the largest output
  double loss = 0;                 ///< mean cross entropy of a label in nats, the outputs being logits
  std::optional<double> top = {};  ///< where EvaluateOptions ask for it
  int64_t samples = 0;
  std::string tested = {};              ///< which they are: "val/", "a fifth of each class", "all samples"
  std::vector<std::string> notes = {};  ///< see notes_on
};

/// How right `network`, of any stage, is on the test part of `data`. Throws without labels, and where the first output
/// has not a row of classes for each.
Evaluation evaluate(const Model& network, const Dataset& data, const EvaluateOptions& options = {},
                    const Settings& settings = {});

}  // namespace halfstep::api
