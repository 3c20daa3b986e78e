// The training loop: float networks, and prepared ones on codes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/train/evaluate/with_open_batch.h"
#include "halfstep/train/loop/recipe.h"
#include "halfstep/train/loop/step_times.h"

namespace halfstep::train {

struct FitOptions {
  int64_t epochs = 20;
  int64_t batch = 32;
  double learning_rate = 0.05;  ///< peak
  double warmup = 0.05;         ///< share of all steps with a rising rate
  passes::OptimizerSpec optimizer;
  data::Augment augment;  ///< of images
  Recipe recipe;          ///< its features are outputs beside the network's own (train/evaluate/features.h)
  bool distill = false;   ///< from a teacher alone, though there are labels
  /// What the network learns from in place of its own float form, in the mean, and beside labels where it learns from
  /// these.
  std::vector<Model> teachers = {};
  double ema = 0.0;        ///< exponential moving average of the parameters, kept as the result; 0: none
  uint64_t seed = 0;       ///< shuffling, and what is held back
  bool keep_best = false;  ///< holds samples back and ends with the best state on them, which may be the first
  bool profile = false;    ///< times() also knows the operators
  std::function<void(int64_t)> watch_iterations = {};  ///< as in CompileOptions
};

/// What a run needs to go on.
struct TrainingState {
  std::map<std::string, Tensor> tensors;  ///< parameters, state and what the optimizer keeps, by name
  std::map<std::string, Tensor> average;  ///< of parameters; empty without averaging
  std::map<std::string, Tensor> best;     ///< the network's at the epoch course.best; empty: as it was given
  Course course;                          ///< empty without keep_best
  int64_t epoch = 0;                      ///< epochs done
};

/// The graph of one step of `Fit`. Throws where these samples are too few or, unsupported, where an operator has no
/// gradient.
Model training_step(const Model& model, const data::Samples& samples, const FitOptions& options);

struct BatchNormUpdate {
  Model model;
  std::string what;  ///< was done and why; "" where the recipe asks for nothing
};

/// A training run that can stop and go on after any epoch with the same bits.
class Fit {
 public:
  /// `model` (float or prepared) is the network and its contents at the start; both it and `samples` must outlive the
  /// run. Where the samples have no labels, `model` must be prepared and learns from its own float form, or there are
  /// teachers. `from`: goes on from a state of the same network, samples and options.
  Fit(const Model& model, const data::Samples& samples, const FitOptions& options, ThreadPool& pool,
      std::optional<TrainingState> from = std::nullopt);
  ~Fit();

  /// One epoch: shuffles by (seed, epoch), drops the samples of an incomplete last batch. Returns the mean loss. Throws
  /// where the loss or a gradient is no number; result() is then that of the epochs before. `progress` may throw.
  double run_epoch(const ProgressCallback& progress = {}, std::string_view stage = "training");
  bool finished() const { return state_.epoch >= options_.epochs; }
  const TrainingState& state() const { return state_; }
  /// What the steps that this object ran have taken: forward, backward and update, without the preparation of their
  /// samples.
  const StepTimes& times() const { return times_; }
  /// The network with what was learned so far: the moving average where there is one, quantizer state as it is now.
  Model current() const;
  /// As fixed_batch_note.
  std::optional<std::string> note() const { return fixed_batch_note(model_); }
  /// Weights that oscillated and stay where they are.
  int64_t frozen_weights() const;
  /// The network that was learned: with keep_best the best so far, else the last.
  Model result() const;
  /// The same with running statistics taken anew, as the recipe asks, where it is not worse for that on the samples
  /// held back.
  BatchNormUpdate renormalized() const;

 private:
  struct Running;
  void go_on(TrainingState state);
  /// Whether it learns from a teacher and no labels.
  bool is_taught() const;
  /// What stands for labels.
  Answers teachers_answers() const;
  Standing standing_on_held_back(const Model& network) const;
  void find_standing(const ProgressCallback& progress);
  void average_parameters(int64_t step);
  /// Of the samples, in the epoch that comes next.
  std::vector<int64_t> next_order() const;
  Tensors step_inputs(int64_t step, const std::vector<int64_t>& order);
  /// Runs a step and returns its loss.
  float run_step(const Tensors& inputs, int64_t step, std::string_view stage);

  /// current() and result() with an open batch.
  Model open_current() const;
  Model open_result() const;

  const Model& given_;
  Model model_;  ///< `given_` with an open batch, where it can be opened: steps are of `options_.batch` samples
  FitOptions options_;
  ThreadPool& pool_;
  data::HeldBack samples_;
  int64_t batch_, steps_per_epoch_;
  std::unique_ptr<Running> running_;
  TrainingState state_;
  StepTimes times_;
};

}  // namespace halfstep::train
