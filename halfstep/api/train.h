// Training, float or with the rounding of the device inside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/train/loop/step_times.h"

namespace halfstep::api {

struct TrainResult {
  Model model;
  std::string digest;              ///< of the trained weights
  std::optional<double> accuracy;  ///< on the test part, with labels
  double loss = 0;                 ///< of the last epoch
  int64_t samples = 0;             ///< of the test part
  std::string tested;              ///< what that is: "val/", "a fifth of each class"
  std::vector<std::string> notes;  ///< see notes_on
  int64_t first_epoch = 0;         ///< epochs that were done before
  int64_t epochs = 0;
  bool was_finished = false;                   ///< nothing was left to do
  double step_milliseconds = 0;                ///< median, without the preparation of samples; 0 when none was run
  std::vector<train::OperatorTime> operators;  ///< the longest first, with `profile`
  int64_t frozen_weights = 0;                  ///< that oscillated
  std::string renormalized;                    ///< what became of running statistics, where the recipe asks
  train::Course held_back;                     ///< how the network did, epoch by epoch; empty without keep_best
  std::string bits;                            ///< with a schedule, the widths of this stage
  std::vector<TrainResult> stages;             ///< with a schedule, those before
};

/// Trains a float or prepared `network` on the training part of `data`. A prepared one learns from its own float form
/// where data has no labels. With a schedule a float network is quantized on the way, and what the platform refuses of
/// any stage is thrown before the first one trains.
TrainResult train(const Model& network, const Dataset& data, const TrainOptions& options = {},
                  const Settings& settings = {});

}  // namespace halfstep::api
