// How right a network is on labelled samples.
#pragma once

#include <optional>
#include <string>

#include "halfstep/api/model.h"
#include "halfstep/train/preprocess.h"

namespace halfstep::api {

struct Evaluation {
  Stage stage = Stage::in_float;
  double accuracy = 0;
  int64_t samples = 0;
};

/// Accuracy of `network`, of any stage, on the test part of `data`. `preprocess` of raw values takes the place of the
/// Model's own.
Evaluation evaluate(const Model& network, const Dataset& data, const std::optional<train::Preprocess>& preprocess,
                    const Settings& settings);

}  // namespace halfstep::api
