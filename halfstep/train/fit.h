// The training loop: float networks, and prepared ones on codes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "halfstep/base/log.h"
#include "halfstep/base/parallel.h"
#include "halfstep/ir/model.h"
#include "halfstep/passes/optimizer.h"
#include "halfstep/train/samples.h"
#include "halfstep/train/step_times.h"

namespace halfstep::train {

struct FitOptions {
  int64_t epochs = 20;
  int64_t batch = 32;
  double learning_rate = 0.05;  ///< peak of a cosine schedule
  double warmup = 0.05;         ///< share of all steps with a rising rate
  passes::OptimizerSpec optimizer;
  Augment augment;             ///< of images
  bool distill = false;        ///< from the network's own float form, though there are labels
  double average_decay = 0.0;  ///< exponential moving average of the parameters, kept as the result; 0: none
  uint64_t seed = 0;           ///< shuffling
  bool profile = false;        ///< times() also knows the operators
};

/// What a run needs to go on: parameters, state, what the optimizer keeps, and the moving average, by name.
struct TrainingState {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, Tensor> average;  ///< of parameters; empty without averaging
  int64_t epoch = 0;                      ///< epochs done
};

/// A training run that can stop and go on after any epoch with the same bits.
/// The graph of one step of `Fit`. Throws where these samples are too few or, unsupported, where an operator has no
/// gradient.
Model training_step(const Model& model, const Samples& samples, const FitOptions& options);

class Fit {
 public:
  /// `model` (float or prepared) is the network and its contents at the start; both it and `samples` must outlive the
  /// run.
  /// Where the samples have no labels, `model` must be prepared and learns from its own float form.
  Fit(const Model& model, const Samples& samples, const FitOptions& options, ThreadPool& pool);
  ~Fit();

  /// One epoch: shuffles by (seed, epoch), drops the samples of an incomplete last batch. Returns the mean loss.
  /// `progress` may throw.
  double run_epoch(const ProgressCallback& progress = {}, std::string_view stage = "training");
  bool finished() const { return state_.epoch >= options_.epochs; }
  const TrainingState& state() const { return state_; }
  /// Of the steps that this object ran: forward, backward and update, without the preparation of their samples.
  const StepTimes& times() const { return times_; }
  /// Continues from a state of the same network and options.
  void restore(TrainingState state);
  /// The network with what was learned so far: the moving average where there is one, quantizer state as it is now.
  Model result() const;

 private:
  struct Running;
  void average_parameters(int64_t step);
  Tensors step_inputs(int64_t step, const std::vector<int64_t>& order);
  /// Runs a step and returns its loss.
  float run_step(const Tensors& inputs);

  const Model& model_;
  const Samples& samples_;
  FitOptions options_;
  ThreadPool& pool_;
  int64_t batch_, steps_per_epoch_;
  std::unique_ptr<Running> running_;
  TrainingState state_;
  StepTimes times_;
};

}  // namespace halfstep::train
