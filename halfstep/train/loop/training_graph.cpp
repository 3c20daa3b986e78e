#include "halfstep/train/loop/training_graph.h"

#include <fmt/ranges.h>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/gradient/errors.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/evaluate/metric_sums.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/joint_graph.h"
#include "halfstep/train/loop/units.h"

namespace halfstep::train {
namespace {

Value label_loss(Graph& graph, bool soft) {
  Value logits = graph.outputs().front();
  if (logits.dims().size() < 2)
    fail(errors::output_without_classes(graph.name(), logits.name(), to_string(logits.type())));
  Builder builder(graph);
  if (logits.dims().size() > 2)
    logits = ops::reshape(builder, {.x = logits, .dims = {-1, data::class_dims(logits.dims()).back()}}).out();
  if (soft) {
    const Value targets = passes::add_argument(graph, kLabels, logits.type());
    return ops::soft_cross_entropy(builder, {.logits = logits, .targets = targets, .name = kLoss}).loss();
  }
  const Value labels = passes::add_argument(graph, kLabels, {DType::i32, {logits.dims()[0]}});
  return ops::softmax_cross_entropy(builder, {.logits = logits, .labels = labels, .name = kLoss}).loss();
}

/// The loss of outputs and targets. Its targets become arguments.
Value given_loss(Model& step, const Beside& beside) {
  Graph& graph = step.graph;
  const std::vector<Value> outputs = graph.outputs();
  const std::vector<std::string> names = graph.body().output_names();
  losses::Ports ports{{}, beside.targets};
  std::map<std::string, Value> values;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ports.outputs.emplace_back(names[i], outputs[i].type());
    values.emplace(losses::output_argument(names[i]), outputs[i]);
  }
  const Model loss = beside.loss.network(ports);
  const auto stand_in = [&](Value value) {
    Value& made = values[value.name()];
    if (!made && value.is_tensor())
      made = passes::add_tensor(step, value.name(), loss.tensors.at(value.name()), Role::constant);
    if (!made) made = passes::add_argument(graph, value.name(), value.type());
    return made;
  };
  copy_into(loss.graph.body(), graph.body(), stand_in, loss.graph.outputs());
  const Value result = graph.outputs().front();
  graph.set_outputs(outputs, names);
  return result;
}

/// mean((output - teacher)^2) / spread^2 as f32 [1].
Value squared_distance(Builder& builder, Value output, Value teacher, Value spread) {
  const Value difference = ops::sub(builder, {.a = output, .b = teacher}).out();
  const Value square = ops::mul(builder, {.a = difference, .b = difference}).out();
  const Value flat = ops::reshape(builder, {.x = square, .dims = {1, -1}}).out();
  const Value mean = ops::reduce_mean(builder, {.x = flat, .axes = {1}}).out();
  const Value once = ops::div(builder, {.a = mean, .b = spread}).out();
  return ops::div(builder, {.a = once, .b = spread, .name = kLoss}).out();
}

/// `loss` (may be null) plus the distances of the outputs that have a spread.
Value with_distances(Value loss, Model& step, const Spreads& spreads) {
  Graph& graph = step.graph;
  Builder builder(graph);
  const std::vector<Value> outputs = graph.outputs();
  const std::vector<std::string> names = graph.body().output_names();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto found = spreads.find(names[i]);
    if (found == spreads.end()) continue;
    const Value spread = graph.add_tensor(spread_tensor(names[i]), {DType::f32, {1}}, Role::state);
    step.tensors.insert_or_assign(spread.name(), Tensor::scalar(found->second));
    const Value teacher = passes::add_argument(graph, teacher_argument(names[i]), outputs[i].type());
    const Value distance = squared_distance(builder, outputs[i], teacher, spread);
    loss = loss ? ops::add(builder, {.a = loss, .b = distance, .name = kLoss}).out() : distance;
  }
  return loss;
}

std::vector<std::string> parameters_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value tensor : graph.tensors()) {
    if (tensor.role() == Role::parameter && !tensor.unused()) names.push_back(tensor.name());
  }
  return names;
}

/// Throws the reasons why no parameter can be trained.
[[noreturn]] void refuse(const std::string& parameter, const std::string& loss, std::vector<Diagnostic> blocked) {
  if (blocked.empty()) fail(errors::parameter_not_reached(parameter, loss));
  for (Diagnostic& objection : blocked) {
    objection.remedy.clear();
    objection = placed(errors::layer_not_trainable(objection.where, objection.reason()), objection.layer, "");
  }
  throw Error(std::move(blocked));
}

/// The notes of training_graph.
std::vector<std::string> notes_on(const std::vector<Diagnostic>& blocked, const std::vector<std::string>& still) {
  std::vector<std::string> notes;
  for (const Diagnostic& objection : blocked)
    notes.push_back(
        fmt::format("{}: {}, so training takes its result as a constant", objection.where, objection.reason()));
  if (!still.empty())
    notes.push_back(fmt::format("no gradient reaches {}: training leaves {} as {}", fmt::join(still, ", "),
                                still.size() == 1 ? "it" : "them", still.size() == 1 ? "it is" : "they are"));
  return notes;
}

passes::Gradients gradients_of(Model& step, Value loss, std::vector<std::string>* notes) {
  const std::vector<std::string> names = parameters_of(step.graph);
  std::vector<Diagnostic> blocked;
  passes::Gradients gradients = passes::reachable_gradients(step, loss, names, blocked);
  if (gradients.of.empty() && !names.empty()) refuse(names.front(), loss.name(), std::move(blocked));
  if (notes == nullptr) return gradients;
  std::vector<std::string> still;
  for (const std::string& name : names) {
    if (!gradients.of.contains(name)) still.push_back(name);
  }
  *notes = notes_on(blocked, still);
  return gradients;
}

}  // namespace

std::string teacher_argument(const std::string& output) { return "teacher." + output; }
std::string spread_tensor(const std::string& output) { return "teacher." + output + ".spread"; }

Value add_loss(Model& step, Loss loss, const Spreads& spreads, const Beside& beside) {
  Value of_labels;
  if (loss == Loss::given) of_labels = given_loss(step, beside);
  if (loss == Loss::labels || loss == Loss::soft_labels) of_labels = label_loss(step.graph, loss == Loss::soft_labels);
  return with_distances(of_labels, step, spreads);
}

Model training_graph(const Model& model, const std::map<std::string, Dims>& extents, Loss loss, const Spreads& spreads,
                     const passes::OptimizerSpec& optimizer, const Beside& beside, std::vector<std::string>* notes) {
  const bool is_prepared = quant::is_prepared(model);
  Model step = differentiable_form(model, extents);
  Spreads all = spreads;
  all.insert(beside.activations.begin(), beside.activations.end());
  const Value value = add_loss(step, loss, all, beside);
  const auto gradients = gradients_of(step, value, notes);
  passes::OptimizerSpec spec = optimizer;
  if (is_prepared) {
    spec.unit = units_of(model, spreads);
    std::erase_if(spec.unit, [&](const auto& unit) { return !gradients.of.contains(unit.first); });
    spec.positive = learned_scales(model);
    for (const std::string& scale : spec.positive) spec.rate.emplace(scale, beside.scale_rate);
    spec.clip_norm = kClipNorm;
  }
  const Value norm = passes::add_optimizer(step, gradients, spec);
  std::vector<Value> outputs = {value};
  std::vector<std::string> names = {kLoss};
  if (norm) {
    outputs.push_back(norm);
    names.emplace_back(kGradientNorm);
  }
  step.graph.set_outputs(std::move(outputs), std::move(names));
  return step;
}

}  // namespace halfstep::train
