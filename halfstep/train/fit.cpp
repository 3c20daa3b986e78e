#include "halfstep/train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"
#include "halfstep/compile/compile.h"
#include "halfstep/train/schedule.h"
#include "halfstep/train/training_graph.h"

namespace halfstep::train {

struct Fit::Running {
  runtime::Program program;
};

Fit::Fit(const Model& model, const Samples& samples, const FitOptions& options, ThreadPool& pool)
    : model_(model),
      samples_(samples),
      options_(options),
      pool_(pool),
      batch_(std::min(options.batch, samples.size())),
      steps_per_epoch_(batch_ == 0 ? 0 : samples.size() / batch_) {
  if (steps_per_epoch_ == 0) fail("training needs at least one sample, found none");
  Dims dims = samples.data->sample_dims();
  dims.insert(dims.begin(), batch_);
  const Model step = training_graph(model, dims, options.optimizer);
  CompileOptions compile_options;
  compile_options.freeze_tensors = false;
  running_ = std::make_unique<Running>(Running{compile(step, compile_options)});
  state_.tensors = running_->program.tensors();
  if (options.average_decay > 0) {
    for (const Value tensor : model.graph.tensors()) {
      if (tensor.role() == Role::parameter) state_.average[tensor.name()] = model.tensors.at(tensor.name()).clone();
    }
  }
}

Fit::~Fit() = default;

double Fit::run_epoch(const ProgressCallback& progress, std::string_view stage) {
  const int64_t steps = steps_per_epoch_ * options_.epochs;
  const auto warmup = static_cast<int64_t>(options_.warmup * static_cast<double>(steps));
  const auto order = Random(options_.seed, static_cast<uint64_t>(state_.epoch)).permutation(samples_.size());
  const std::string& input = model_.graph.arguments().front().name();
  double loss_sum = 0;
  for (int64_t i = 0; i < steps_per_epoch_; ++i) {
    const int64_t step = state_.epoch * steps_per_epoch_ + i;
    const auto rate = static_cast<float>(cosine_rate(options_.learning_rate, step, steps, warmup));
    const auto outputs = running_->program.run({{input, samples_.x(i * batch_, batch_, &order)},
                                                {kLabels, samples_.labels(i * batch_, batch_, &order)},
                                                {passes::kLearningRate, Tensor::scalar(rate)}},
                                               pool_);
    const float loss = outputs.at(kLoss).data<float>()[0];
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
  for (const auto& [name, tensor] : state.tensors) running_->program.set_tensor(name, tensor);
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
