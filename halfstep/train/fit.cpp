#include "halfstep/train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"
#include "halfstep/compile/compile.h"
#include "halfstep/passes/bypass_quantizers.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/train/executable.h"
#include "halfstep/train/schedule.h"
#include "halfstep/train/training_graph.h"

namespace halfstep::train {

struct Fit::Running {
  runtime::Program program;
  std::optional<BatchRunner> teacher;  ///< where there are no labels
};

namespace {

/// The float form of a prepared network, as it is before training.
Model teacher_of(const Model& model, const Samples& samples) {
  if (!quant::is_prepared(model))
    fail("{}: only a prepared network learns from its float form, expected one or samples with labels",
         samples.data->name);
  Model teacher = clone(model);
  passes::set_mode(teacher.graph, passes::Mode::evaluation);
  passes::bypass_quantizers(teacher.graph);
  return teacher;
}

int64_t batch_for(const Model& model, const Samples& samples, int64_t wanted) {
  const int64_t batch = batch_of(model, std::min(wanted, samples.size()));
  if (batch == 0 || samples.size() < batch)
    fail("training needs at least {} samples, found {}", std::max<int64_t>(1, batch), samples.size());
  return batch;
}

Loss loss_for(const Samples& samples, const FitOptions& options) {
  return samples.data->has_labels() && !options.distill ? Loss::labels : Loss::teacher;
}

}  // namespace

Model training_step(const Model& model, const Samples& samples, const FitOptions& options) {
  const int64_t batch = batch_for(model, samples, options.batch);
  if (options.augment.any())
    options.augment.check(samples.data->x.defined() ? samples.data->sample_dims() : Dims(), samples.data->name);
  return training_graph(model, samples.extents(batch), loss_for(samples, options), options.optimizer);
}

Fit::Fit(const Model& model, const Samples& samples, const FitOptions& options, ThreadPool& pool)
    : model_(model),
      samples_(samples),
      options_(options),
      pool_(pool),
      batch_(batch_for(model, samples, options.batch)),
      steps_per_epoch_(samples.size() / batch_) {
  const Model step = training_step(model, samples, options);
  CompileOptions compile_options;
  compile_options.freeze_tensors = false;
  running_ = std::make_unique<Running>(Running{compile(step, compile_options), {}});
  if (loss_for(samples, options) == Loss::teacher)
    running_->teacher.emplace(teacher_of(model, samples), std::vector<std::string>(), pool);
  state_.tensors = running_->program.tensors();
  if (options.average_decay > 0) {
    for (const Value tensor : model.graph.tensors()) {
      if (tensor.role() == Role::parameter) state_.average[tensor.name()] = model.tensors.at(tensor.name()).clone();
    }
  }
}

Fit::~Fit() = default;

/// Of a step of the epoch that has the samples in this order, but for the learning rate.
Tensors Fit::step_inputs(int64_t step, const std::vector<int64_t>& order) {
  const int64_t begin = step % steps_per_epoch_ * batch_;
  Tensors inputs =
      samples_.inputs(begin, batch_, &order, {options_.augment, options_.seed, static_cast<uint64_t>(step)});
  if (!running_->teacher) {
    inputs.emplace(kLabels, samples_.labels(begin, batch_, &order));
    return inputs;
  }
  for (auto& [name, tensor] : running_->teacher->run(inputs)) inputs.emplace(teacher_argument(name), tensor);
  return inputs;
}

float Fit::run_step(const Tensors& inputs) {
  runtime::Trace trace;
  const auto begin = std::chrono::steady_clock::now();
  const Tensors outputs = running_->program.run(inputs, pool_, options_.profile ? &trace : nullptr);
  times_.add(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  if (options_.profile) times_.add(running_->program, trace);
  return outputs.at(kLoss).data<float>()[0];
}

double Fit::run_epoch(const ProgressCallback& progress, std::string_view stage) {
  const int64_t steps = steps_per_epoch_ * options_.epochs;
  const auto warmup = static_cast<int64_t>(options_.warmup * static_cast<double>(steps));
  const auto order = Random(options_.seed, static_cast<uint64_t>(state_.epoch)).permutation(samples_.size());
  double loss_sum = 0;
  for (int64_t i = 0; i < steps_per_epoch_; ++i) {
    const int64_t step = state_.epoch * steps_per_epoch_ + i;
    const auto rate = static_cast<float>(cosine_rate(options_.learning_rate, step, steps, warmup));
    Tensors inputs = step_inputs(step, order);
    inputs.emplace(passes::kLearningRate, Tensor::scalar(rate));
    const float loss = run_step(inputs);
    if (!std::isfinite(loss)) fail("{}: the loss is {} at step {}; lower the learning rate", stage, loss, step);
    loss_sum += loss;
    if (!state_.average.empty()) average_parameters(step);
    if (progress) {
      const std::string note = fmt::format("epoch {}/{}, loss {:.4f}", state_.epoch + 1, options_.epochs,
                                           loss_sum / static_cast<double>(i + 1));
      progress({stage, static_cast<double>(step + 1), static_cast<double>(steps), note});
    }
  }
  state_.tensors = running_->program.tensors();
  ++state_.epoch;
  return loss_sum / static_cast<double>(steps_per_epoch_);
}

/// average' = average + (1 - d) * (parameter - average); d rises from small to average_decay so that the start is
/// forgotten soon.
void Fit::average_parameters(int64_t step) {
  const double grown = (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step));
  const auto rest = static_cast<float>(1.0 - std::min(options_.average_decay, grown));
  for (auto& [name, average] : state_.average) {
    const Tensor now = running_->program.tensor(name);
    auto to = average.data<float>();
    const auto from = now.data<float>();
    for (size_t i = 0; i < to.size(); ++i) to[i] += rest * (from[i] - to[i]);
  }
}

void Fit::restore(TrainingState state) {
  for (const auto& [name, tensor] : state.tensors) {
    // What a learned scale once was observed by is in the network and in no step.
    const bool is_idle = model_.tensors.contains(name) && !state_.tensors.contains(name);
    if (!is_idle) running_->program.set_tensor(name, tensor);
  }
  state_ = std::move(state);
}

Model Fit::result() const {
  Model result = clone(model_);
  for (auto& [name, tensor] : result.tensors) {
    if (const auto live = state_.tensors.find(name); live != state_.tensors.end()) tensor = live->second.clone();
    if (const auto average = state_.average.find(name); average != state_.average.end())
      tensor = average->second.clone();
  }
  return result;
}

}  // namespace halfstep::train
