#include "halfstep/train/loop/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/graph/dynamic_batch.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/evaluate/activations.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/metric_sums.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/oscillation.h"
#include "halfstep/train/loop/renormalize.h"
#include "halfstep/train/loop/training_graph.h"

namespace halfstep::train {

struct Fit::Running {
  runtime::Program program;
  Teachers teachers;                         ///< used without labels, with activations, or with other networks
  DistillationTargets targets;               ///< spreads of their outputs
  bool is_distillation = false;              ///< learns only from teachers, without labels
  std::set<std::string> arguments = {};      ///< names of the step's arguments, some of which are targets
  int64_t classes = 0;                       ///< number of classes of soft labels (0: hard labels, or none)
  std::optional<Oscillations> oscillations;  ///< set if the recipe freezes weights
};

namespace {

int64_t batch_for(const Model& model, const data::Samples& samples, int64_t wanted) {
  const int64_t batch = data::batch_of(model, std::min(wanted, samples.size()));
  if (batch == 0 || samples.size() < batch)
    fail(errors::training_samples_too_few(samples.size(), std::max<int64_t>(1, batch)));
  return batch;
}

Loss loss_for(const data::Samples& samples, const FitOptions& options) {
  if (options.distill) return Loss::teacher;
  if (options.loss) return Loss::given;
  if (!samples.data->has_labels()) return Loss::teacher;
  return options.recipe.softens_labels() ? Loss::soft_labels : Loss::labels;
}

/// Throws if the network learns labels without a suitable output.
void check_labels(const Model& model, const data::Samples& samples, const FitOptions& options) {
  const Loss loss = loss_for(samples, options);
  const bool learns_nothing = loss == Loss::teacher && options.teachers.empty() && !options.distill;
  if (learns_nothing && !quant::is_prepared(model) && !samples.data->targets.empty())
    fail(errors::targets_without_loss(samples.data->name, samples.data->targets.begin()->first));
  if (loss == Loss::teacher || loss == Loss::given || data::have_answers(samples, model)) return;
  const Value output = model.graph.outputs().front();
  fail(errors::labels_without_output(model.graph.name(), output.name(), to_string(output.type()), samples.data->name,
                                     samples.data->labels_each()));
}

/// Throws if the recipe does not fit these samples or this network.
void check_recipe(const Model& model, const data::Samples& samples, const FitOptions& options) {
  const Recipe& recipe = options.recipe;
  recipe.check();
  check_labels(model, samples, options);
  if (recipe.label_smoothing > 0 && loss_for(samples, options) == Loss::teacher)
    fail(errors::label_smoothing_without_labels());
  if (recipe.teacher_weight != 1 && (options.teachers.empty() || loss_for(samples, options) == Loss::teacher))
    fail(errors::teacher_weight_without_both(recipe.teacher_weight,
                                             options.teachers.empty() ? "teacher" : "labels to learn from"));
  if (options.loss && (recipe.softens_labels() || options.distill))
    fail(errors::loss_without_targets(options.loss.text, options.distill              ? "distill"
                                                         : recipe.label_smoothing > 0 ? "label_smoothing"
                                                                                      : "mixup"));
  if (recipe.mixup == 0) return;
  for (const Value argument : model.graph.arguments()) {
    if (argument.dtype() != DType::f32) fail(errors::mixup_of_integers(argument.name(), to_string(argument.type())));
  }
}

data::ValidationSplit parts_of(const Model& model, const data::Samples& samples, const FitOptions& options) {
  if (options.keep_best) return data::split_validation(samples, data::batch_of(model, 1), options.seed);
  data::Samples none = samples;
  none.indices.clear();
  return {samples, std::move(none)};
}

Model step_graph(const Model& model, const data::Samples& train, const FitOptions& options,
                 const DistillationTargets& targets, std::vector<std::string>* notes = nullptr) {
  if (options.augment.any())
    options.augment.check(train.data->has_x() ? train.sample_dims() : Dims(), train.data->name);
  const int64_t batch = batch_for(model, train, options.batch);
  return training_graph(model, train.extents(batch), loss_for(train, options), targets.outputs, options.optimizer,
                        {targets.activations, options.recipe.scale_rate, options.loss, train.target_types(batch)},
                        notes);
}

/// Whether the network's own float form teaches it.
bool teaches_itself(const data::Samples& samples, const FitOptions& options) {
  return !options.recipe.distill_activations.empty() ||
         (loss_for(samples, options) == Loss::teacher && options.teachers.empty());
}

/// The network with every value of the loss as an output. Outputs that learn from another network in addition to labels
/// are activations.
Wide wide_for(const Model& model, const data::Samples& samples, const FitOptions& options) {
  Wide wide = with_activations(model, options.recipe.distill_activations);
  if (!options.teachers.empty() && loss_for(samples, options) != Loss::teacher) {
    for (const std::string& name : model.graph.body().output_names()) wide.activations.insert(name);
  }
  return wide;
}

/// `teacher` with a dynamic batch, tested on inputs of `model`, by position.
Model open_teacher(const Model& teacher, const Model& model, const data::Samples& samples, ThreadPool& pool) {
  const auto &own = model.graph.arguments(), &others = teacher.graph.arguments();
  if (passes::has_dynamic_batch(teacher) || own.size() != others.size() || samples.size() == 0) return teacher;
  const Tensors inputs = inputs_of_batches(teacher, samples);
  Tensors by_position;
  for (size_t i = 0; i < own.size(); ++i) by_position.emplace(others[i].name(), inputs.at(own[i].name()));
  return with_dynamic_batch(teacher, by_position, pool);
}

Teachers teachers_for(const Model& model, const Wide& wide, const data::Samples& samples, const FitOptions& options,
                      int64_t batch, ThreadPool& pool) {
  Teachers teachers;
  const auto runner = [&](Model form) {
    return BatchRunner(std::move(form), std::vector<std::string>(), pool, options.watch_iterations);
  };
  if (teaches_itself(samples, options)) teachers.own.emplace(runner(teacher_of(wide.model, samples.data->name)));
  for (const Model& other : options.teachers)
    teachers.others.push_back(
        runner(as_teacher(open_teacher(other, model, samples, pool), model, samples.extents(batch))));
  return teachers;
}

/// Divides the spreads by the square root of the weight, so that the squared distances count `weight` times.
Spreads weighted(Spreads spreads, const Model& model, const FitOptions& options, bool is_distillation) {
  if (options.teachers.empty() || is_distillation) return spreads;
  const auto root = static_cast<float>(std::sqrt(options.recipe.teacher_weight));
  for (const std::string& name : model.graph.body().output_names()) {
    if (const auto found = spreads.find(name); found != spreads.end()) found->second /= root;
  }
  return spreads;
}

/// The spreads that an earlier part of the run computed.
Spreads spreads_in(const Model& model, const TrainingState& state) {
  Spreads spreads;
  for (const std::string& name : model.graph.body().output_names()) {
    const auto found = state.tensors.find(spread_tensor(name));
    if (found != state.tensors.end()) spreads[name] = found->second.data<float>()[0];
  }
  return spreads;
}

}  // namespace

Model training_step(const Model& model, const data::Samples& samples, const FitOptions& options) {
  check_recipe(model, samples, options);
  const data::ValidationSplit parts = parts_of(model, samples, options);
  const Wide wide = wide_for(model, samples, options);
  const bool is_distillation = loss_for(samples, options) == Loss::teacher;
  const std::map<std::string, Dims> extents = parts.train.extents(batch_for(model, parts.train, options.batch));
  if (teaches_itself(samples, options)) require_teacher(model, samples.data->name);
  for (const Model& other : options.teachers) as_teacher(other, model, extents);
  Spreads spreads;
  if (!options.teachers.empty() || teaches_itself(samples, options)) {
    for (const std::string& name : float_outputs(wide.model, extents)) spreads[name] = 1.0F;
  }
  const DistillationTargets targets = distillation_targets(std::move(spreads), wide, model, is_distillation);
  return step_graph(wide.model, parts.train, options, targets);
}

Fit::Fit(const Model& model, const data::Samples& samples, const FitOptions& options, ThreadPool& pool,
         std::optional<TrainingState> from)
    : given_(model),
      model_(with_dynamic_batch(model, samples, pool)),
      options_(options),
      pool_(pool),
      samples_(parts_of(model_, samples, options)),
      batch_(batch_for(model_, samples_.train, options.batch)),
      steps_per_epoch_(samples_.train.size() / batch_) {
  check_recipe(model_, samples, options);
  const bool is_distillation = loss_for(samples, options) == Loss::teacher;
  const Wide wide = wide_for(model_, samples, options);
  Teachers teachers = teachers_for(model_, wide, samples, options, batch_, pool);
  Spreads spreads = from ? spreads_in(wide.model, *from)
                         : weighted(teachers.spreads(wide.model, model_, samples_.train, batch_, options.seed), model_,
                                    options, is_distillation);
  DistillationTargets targets = distillation_targets(std::move(spreads), wide, model_, is_distillation);
  const Model step = step_graph(wide.model, samples_.train, options, targets, &notes_);
  if (auto note = fixed_batch_note(model_)) notes_.push_back(std::move(*note));
  const bool is_soft = loss_for(samples, options) == Loss::soft_labels;
  const int64_t classes = is_soft ? data::class_dims(model.graph.outputs().front().dims()).back() : 0;
  std::optional<Oscillations> oscillations;
  if (options.recipe.freeze_oscillating > 0) oscillations.emplace(model_, options.recipe.freeze_oscillating);
  CompileOptions compile_options;
  compile_options.freeze_tensors = false;
  compile_options.watch_iterations = options.watch_iterations;
  std::set<std::string> arguments;
  for (const Value argument : step.graph.arguments()) arguments.insert(argument.name());
  running_ =
      std::make_unique<Running>(Running{compile(step, compile_options), std::move(teachers), std::move(targets),
                                        is_distillation, std::move(arguments), classes, std::move(oscillations)});
  if (from) {
    go_on(std::move(*from));
    return;
  }
  state_.tensors = running_->program.tensors();
  state_.history = {samples_.validation_split.size(), !is_distillation, {}, 0};
  if (options.ema > 0) {
    for (const Value tensor : model_.graph.tensors()) {
      if (tensor.role() == Role::parameter) state_.average[tensor.name()] = model_.tensors.at(tensor.name()).clone();
    }
  }
}

void Fit::go_on(TrainingState state) {
  const auto live = running_->program.tensors();
  std::map<std::string, Tensor> beside;
  if (running_->oscillations) {
    running_->oscillations->load(state.tensors);
    running_->oscillations->save(beside);
  }
  for (const auto& [name, tensor] : state.tensors) {
    if (beside.contains(name)) continue;
    // The range from which a learned scale was initialized is in the network, but not in a step.
    if (live.contains(name) || !model_.tensors.contains(name)) running_->program.set_tensor(name, tensor);
  }
  state_ = std::move(state);
}

Fit::~Fit() = default;

std::vector<int64_t> Fit::next_order() const {
  return Random(options_.seed, static_cast<uint64_t>(state_.epoch)).permutation(samples_.train.size());
}

/// The inputs of a step in an epoch with this order, without the learning rate.
Tensors Fit::step_inputs(int64_t step, const std::vector<int64_t>& order) {
  const int64_t begin = step % steps_per_epoch_ * batch_;
  const data::Samples& train = samples_.train;
  const data::Augmentation changes{options_.augment, options_.seed, static_cast<uint64_t>(step)};
  Tensors inputs = train.inputs(begin, batch_, &order, changes);
  std::optional<Mixture> mixture;
  if (options_.recipe.mixup > 0) {
    mixture = mixture_of(options_.recipe.mixup, batch_, options_.seed, static_cast<uint64_t>(step));
    for (auto& [name, tensor] : inputs) tensor = mixed(tensor, *mixture);
  }
  if (running_->teachers.any()) {
    const Tensors wanted = running_->teachers.run(inputs);
    for (const Spreads* spreads : {&running_->targets.outputs, &running_->targets.activations}) {
      for (const auto& [name, spread] : *spreads) inputs.emplace(teacher_argument(name), wanted.at(name));
    }
  }
  if (options_.loss) {
    for (auto& [name, target] : train.targets(begin, batch_, &order, changes)) {
      const std::string argument = losses::target_argument(name);
      if (running_->arguments.contains(argument)) inputs.emplace(argument, std::move(target));
    }
  } else if (!is_distillation()) {
    Tensor labels = train.labels(begin, batch_, &order);
    if (running_->classes > 0) {
      labels = soft_targets(labels, running_->classes, options_.recipe.label_smoothing);
      if (mixture) labels = mixed(labels, *mixture);
    }
    inputs.emplace(kLabels, std::move(labels));
  }
  return inputs;
}

float Fit::run_step(const Tensors& inputs, int64_t step, std::string_view stage) {
  runtime::Trace trace;
  const auto begin = std::chrono::steady_clock::now();
  const Tensors outputs = running_->program.run(inputs, pool_, options_.profile ? &trace : nullptr);
  times_.add(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  if (options_.profile) times_.add(running_->program, trace);
  for (const auto& [name, value] : outputs) {
    if (const float number = value.data<float>()[0]; !std::isfinite(number))
      fail(errors::training_diverged(stage, name, fmt::format("{}", number), step));
  }
  return outputs.at(kLoss).data<float>()[0];
}

double Fit::run_epoch(const ProgressCallback& progress, std::string_view stage) {
  if (options_.keep_best && state_.history.validation_results.empty()) find_validation(progress);
  const int64_t steps = steps_per_epoch_ * options_.epochs;
  const auto warmup = static_cast<int64_t>(options_.warmup * static_cast<double>(steps));
  const std::vector<int64_t> order = next_order();
  double loss_sum = 0;
  for (int64_t i = 0; i < steps_per_epoch_; ++i) {
    const int64_t step = state_.epoch * steps_per_epoch_ + i;
    const auto rate =
        static_cast<float>(rate_at(options_.recipe.schedule, options_.learning_rate, step, steps, warmup));
    Tensors inputs = step_inputs(step, order);
    inputs.emplace(passes::kLearningRate, Tensor::scalar(rate));
    loss_sum += run_step(inputs, step, stage);
    if (running_->oscillations) running_->oscillations->after_step(running_->program);
    if (!state_.average.empty()) average_parameters(step);
    if (progress) {
      const std::string note = fmt::format("epoch {}/{}, loss {:.4f}", state_.epoch + 1, options_.epochs,
                                           loss_sum / static_cast<double>(i + 1));
      progress({stage, static_cast<double>(step + 1), static_cast<double>(steps), note});
    }
  }
  state_.tensors = running_->program.tensors();
  if (running_->oscillations) running_->oscillations->save(state_.tensors);
  ++state_.epoch;
  if (options_.keep_best) find_validation(progress);
  return loss_sum / static_cast<double>(steps_per_epoch_);
}

/// average' = average + (1 - d) * (parameter - average). d rises from a small value to ema, so that the initial values
/// soon lose their weight.
void Fit::average_parameters(int64_t step) {
  const double grown = (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step));
  const auto rest = static_cast<float>(1.0 - std::min(options_.ema, grown));
  for (auto& [name, average] : state_.average) {
    const Tensor now = running_->program.tensor(name);
    auto to = average.data<float>();
    const auto from = now.data<float>();
    for (size_t i = 0; i < to.size(); ++i) to[i] += rest * (from[i] - to[i]);
  }
}

bool Fit::is_distillation() const { return running_->is_distillation; }

Answers Fit::teachers_answers() const {
  return [this](const Tensors& inputs) { return running_->teachers.outputs(inputs); };
}

ValidationResult Fit::validation_result_of_split(const Model& network) const {
  if (options_.loss)
    return evaluate_on(network, samples_.validation_split, options_.loss, pool_, options_.watch_iterations);
  const Answers teacher = is_distillation() ? teachers_answers() : Answers();
  return evaluate_on(network, samples_.validation_split, teacher, running_->targets.outputs, pool_,
                     options_.watch_iterations);
}

void Fit::find_validation(const ProgressCallback& progress) {
  Model now = open_current();
  TrainingHistory& history = state_.history;
  if (history.validation_results.empty() && !is_distillation() && !options_.teachers.empty())
    history.teacher = evaluate_on(teachers_answers(), now, samples_.validation_split, options_.loss, pool_);
  const ValidationResult validation_result = validation_result_of_split(now);
  if (history.add(validation_result)) state_.best = std::move(now.tensors);
  const std::string when = state_.epoch == 0 ? "at the start" : fmt::format("after epoch {}", state_.epoch);
  if (progress) progress({"validation", 1, 1, fmt::format("{}: {}", when, text_of(history, validation_result))});
}

int64_t Fit::frozen_weights() const { return running_->oscillations ? running_->oscillations->frozen() : 0; }

BatchNormUpdate Fit::renormalized() const {
  Model network = open_result();
  const auto closed = [&](Model& model, const char* what) {
    return BatchNormUpdate{passes::close_batch(std::move(model), given_), what};
  };
  if (options_.recipe.renormalize == 0) return closed(network, "");
  // The batches that training would see next.
  const auto step = static_cast<uint64_t>(state_.epoch * steps_per_epoch_);
  const SeenBatches batches = {
      batch_, options_.recipe.renormalize, next_order(), {options_.augment, options_.seed, step}};
  if (renormalize(network, samples_.train, batches, pool_) == 0)
    return closed(network, "kept the running statistics: no batch norm tracks its batches here");
  if (options_.keep_best) {
    Model before = open_result();
    const ValidationResult was = validation_result_of_split(before), is = validation_result_of_split(network);
    if (is.right < was.right || !(is.loss <= was.loss))
      return closed(before, "kept the running statistics: recomputed ones worsened the validation result");
  }
  return closed(network, "recomputed the running statistics of batch norms");
}

Model Fit::current() const { return passes::close_batch(open_current(), given_); }

Model Fit::result() const { return passes::close_batch(open_result(), given_); }

Model Fit::open_current() const {
  Model current = clone(model_);
  for (auto& [name, tensor] : current.tensors) {
    if (const auto live = state_.tensors.find(name); live != state_.tensors.end()) tensor = live->second.clone();
    if (const auto average = state_.average.find(name); average != state_.average.end())
      tensor = average->second.clone();
  }
  passes::settle_learned_parts(current);
  return current;
}

Model Fit::open_result() const {
  if (!options_.keep_best) return open_current();
  Model result = clone(model_);
  for (const auto& [name, tensor] : state_.best) result.tensors.at(name) = tensor.clone();
  return result;
}

}  // namespace halfstep::train
