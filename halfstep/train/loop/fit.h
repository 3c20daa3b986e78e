// The training loop for float networks and, on codes, for prepared networks.
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
#include "halfstep/engine/losses/loss_network.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/train/evaluate/with_dynamic_batch.h"
#include "halfstep/train/loop/recipe.h"
#include "halfstep/train/loop/step_times.h"

namespace halfstep::train {

struct FitOptions {
  int64_t epochs = 20;
  int64_t batch = 32;           ///< samples per step, unless the network has a fixed batch
  double learning_rate = 0.05;  ///< peak learning rate
  double warmup = 0.05;         ///< fraction of all steps in which the rate rises
  passes::OptimizerSpec optimizer;
  data::Augment augment;  ///< random changes of images
  Recipe recipe;          ///< activations become outputs beside the network's own (train/evaluate/activations.h)
  /// Compares outputs with targets of the samples. Without it, the first output learns the labels.
  losses::NamedLoss loss = {};
  bool distill = false;  ///< learn only from a teacher, although there are labels
  /// Teachers instead of the network's own float form. The network learns from the mean of their outputs, in addition
  /// to labels if it uses labels.
  std::vector<Model> teachers = {};
  double ema = 0.0;        ///< decay of the moving average of the parameters, which becomes the result (0: none)
  uint64_t seed = 0;       ///< determines shuffling and the held-out samples
  bool keep_best = false;  ///< hold out samples and return the best state on them, possibly the initial one
  bool profile = false;    ///< times() also lists the operators
  std::function<void(int64_t)> watch_iterations = {};  ///< see CompileOptions
};

/// State that a run needs to continue.
struct TrainingState {
  std::map<std::string, Tensor> tensors;  ///< parameters, state and optimizer state, by name
  std::map<std::string, Tensor> average;  ///< averaged parameters, empty without averaging
  std::map<std::string, Tensor> best;     ///< the network at epoch history.best, empty: the initial network
  TrainingHistory history;                ///< validation results, empty without keep_best
  int64_t epoch = 0;                      ///< number of finished epochs
};

/// The graph of one step of `Fit`. Throws if there are too few samples, or (unsupported) if an operator has no
/// gradient.
Model training_step(const Model& model, const data::Samples& samples, const FitOptions& options);

struct BatchNormUpdate {
  Model model;
  std::string what;  ///< report of the update and its reason, "" if the recipe has none
};

/// A training run. It can stop after any epoch and continue later with the same bits.
class Fit {
 public:
  /// `model` (float or prepared) is the initial network. It and `samples` must outlive the run. Samples without labels
  /// need teachers, or a prepared `model`, which learns from its own float form. `from` continues from a state of the
  /// same network, samples and options.
  Fit(const Model& model, const data::Samples& samples, const FitOptions& options, ThreadPool& pool,
      std::optional<TrainingState> from = std::nullopt);
  ~Fit();

  /// Runs one epoch: shuffles by (seed, epoch) and drops the samples of an incomplete last batch. Returns the mean
  /// loss. Throws if the loss or a gradient is not finite. Then result() is that of the previous epochs. `progress` may
  /// throw.
  double run_epoch(const ProgressCallback& progress = {}, std::string_view stage = "training");
  bool finished() const { return state_.epoch >= options_.epochs; }
  const TrainingState& state() const { return state_; }
  /// Times of the steps run by this object: forward, backward and update, without the preparation of samples.
  const StepTimes& times() const { return times_; }
  /// The network in its current state: averaged parameters if there is an average, and the current quantizer state.
  Model current() const;
  /// See training_graph and fixed_batch_note.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Number of weights frozen because they oscillated.
  int64_t frozen_weights() const;
  /// The trained network: the best so far with keep_best, else the last.
  Model result() const;
  /// The result with recomputed running statistics, if the recipe requests this. Keeps the old statistics if the
  /// validation result is worse with new ones.
  BatchNormUpdate renormalized() const;

 private:
  struct Running;
  void go_on(TrainingState state);
  /// Whether it learns only from teachers, without labels.
  bool is_distillation() const;
  /// The targets that replace labels.
  Answers teachers_answers() const;
  ValidationResult validation_result_of_split(const Model& network) const;
  void find_validation(const ProgressCallback& progress);
  void average_parameters(int64_t step);
  /// Order of the samples in the next epoch.
  std::vector<int64_t> next_order() const;
  Tensors step_inputs(int64_t step, const std::vector<int64_t>& order);
  /// Runs a step and returns its loss.
  float run_step(const Tensors& inputs, int64_t step, std::string_view stage);

  /// current() with a dynamic batch.
  Model open_current() const;
  Model open_result() const;

  const Model& given_;
  Model model_;  ///< `given_` with a dynamic batch where possible, so that steps have `options_.batch` samples
  FitOptions options_;
  ThreadPool& pool_;
  data::ValidationSplit samples_;
  int64_t batch_, steps_per_epoch_;
  std::unique_ptr<Running> running_;
  TrainingState state_;
  StepTimes times_;
  std::vector<std::string> notes_;
};

}  // namespace halfstep::train
