// Accuracy of a network on labelled samples. A sample may have several labels (a language model: one per symbol).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/inputs/model.h"
#include "halfstep/api/options.h"
#include "halfstep/data/pipeline/preprocess.h"

namespace halfstep::api {

/// Result of `evaluate`.
struct EvaluateResult {
  Stage stage = Stage::float_network;
  double accuracy = 0;             ///< share of labels with the largest output, from 0 to 1
  double loss = 0;                 ///< mean cross entropy per label in nats; outputs are logits
  std::optional<double> top = {};  ///< top-k accuracy from 0 to 1, if EvaluateOptions request it
  int64_t samples = 0;
  std::string tested = {};              ///< evaluated samples: "val/", "a fifth of each class", "all samples"
  std::vector<std::string> notes = {};  ///< warnings about the samples
};

/// Evaluates `network`, of any stage, on the test split of `data`. Throws without labels, or if the first output does
/// not have a row of classes for each label.
EvaluateResult evaluate(const Model& network, const Dataset& data, const EvaluateOptions& options = {},
                        const Settings& settings = {});

}  // namespace halfstep::api
