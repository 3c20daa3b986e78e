// Training of float networks and quantization-aware training of prepared networks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/train/loop/step_times.h"

namespace halfstep::api {

/// Result of `train`.
struct TrainResult {
  Model model;
  std::string digest;                      ///< digest of the trained weights
  std::optional<double> accuracy;          ///< accuracy on the test split, from 0 to 1; absent without labels
  std::optional<double> tested_loss = {};  ///< given loss on the test split
  double loss = 0;                         ///< training loss of the last epoch
  int64_t samples = 0;                     ///< number of samples of the test split
  std::string tested;                      ///< source of the test split: "val/", "a fifth of each class"
  std::vector<std::string> notes;          ///< warnings about the samples and the training
  int64_t first_epoch = 0;                 ///< epochs completed by earlier runs
  int64_t epochs = 0;
  bool was_finished = false;                   ///< the run was already complete
  double step_milliseconds = 0;                ///< median without sample preparation; 0 if no step ran
  std::vector<train::OperatorTime> operators;  ///< slowest first, with `profile`
  int64_t frozen_weights = 0;                  ///< weights frozen because they oscillated
  std::string renormalized;                    ///< result of recomputing running statistics, if the recipe requests it
  train::TrainingHistory history;              ///< training history by epoch; empty without keep_best
  std::string bits;                            ///< bit widths of this stage of a schedule; "" without one
  std::vector<TrainResult> stages;             ///< results of earlier stages of a schedule
};

/// Trains a float or prepared `network` on the training split of `data`. Without labels, a prepared network is
/// distilled from its float form. With a schedule, a float network is quantized between stages. Objections of the
/// platform to any stage are thrown before the first stage trains.
TrainResult train(const Model& network, const Dataset& data, const TrainOptions& options = {},
                  const Settings& settings = {});

}  // namespace halfstep::api
