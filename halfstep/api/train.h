// Training, float or with the rounding of the device inside.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "halfstep/api/bits_schedule.h"
#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/augment.h"
#include "halfstep/data/pipeline/preprocess.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/train/loop/recipe.h"
#include "halfstep/train/loop/step_times.h"

namespace halfstep::api {

struct TrainOptions {
  int64_t epochs = 20;
  int64_t batch = 32;
  std::optional<double> learning_rate = {};  ///< without one: 0.05 for float networks, 0.001 for prepared ones
  double average_decay = 0.99;  ///< of the moving average of weights, which is the result; 0: the last ones
  train::Augment augment = {};  ///< of images, in training alone
  train::Recipe recipe = {};    ///< how it learns beyond rate and epochs
  bool distill = false;         ///< it learns from a teacher alone, though data has labels
  /// Of any stage, of the same samples and classes: what they give in the mean is learned beside labels, or in their
  /// place where there are none or with `distill`. Without any a prepared network's teacher is its own float form.
  std::vector<Model> teachers = {};
  double weight_decay = 1e-4;  ///< share of a parameter that a step takes away, times the learning rate
  bool profile = false;        ///< the report says which operators take the time
  int64_t max_iterations = 0;  ///< of a loop in the network; one that goes on is an error. 0: any number
  /// A part of the samples is held back, and the result is the best state on them, which may be the network as it was.
  /// Off for a network that has learned nothing yet.
  bool keeps_best = true;
  std::filesystem::path folder = {};  ///< takes a checkpoint after each epoch, and the result
  bool resume = false;                ///< go on from the last checkpoint in `folder`
  bool overwrite = false;             ///< replace an earlier run in `folder`, instead of refusing to
  /// From raw values (images, csv) to what the network takes; it travels with the Model.
  train::PreprocessOptions preprocess = {};
  /// Widths one after the other, `epochs` at each. Weights and observed ranges go from stage to stage; optimizer,
  /// moving average and learning rate begin anew. Every stage but the first keeps its best state.
  BitsSchedule schedule = {};
};

struct Trained {
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
  train::Course held_back;                     ///< how the network did, epoch by epoch; empty without keeps_best
  std::string bits;                            ///< with a schedule, the widths of this stage
  std::vector<Trained> stages;                 ///< with a schedule, those before
};

/// Trains a float or prepared `network` on the training part of `data`. A prepared one learns from its own float form
/// where data has no labels. With a schedule a float network is quantized on the way, and what the platform refuses of
/// any stage is thrown before the first one trains.
Trained train(const Model& network, const Dataset& data, const TrainOptions& options, const Settings& settings);

}  // namespace halfstep::api
