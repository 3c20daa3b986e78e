#include "halfstep/train/training_graph.h"

#include "halfstep/base/status.h"
#include "halfstep/ir/ops.h"
#include "halfstep/passes/autodiff.h"
#include "halfstep/passes/quantized_patterns.h"
#include "halfstep/passes/tensors.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/train/channel_rates.h"

namespace halfstep::train {
namespace {

Value label_loss(Graph& graph) {
  const Value logits = graph.outputs().front();
  if (logits.dims().size() != 2)
    fail("network '{}': output '{}' is {}, expected [batch, classes]", graph.name(), logits.name(),
         to_string(logits.type()));
  const Value labels = passes::add_argument(graph, kLabels, {DType::i32, {logits.dims()[0]}});
  Builder builder(graph);
  return ops::softmax_cross_entropy(builder, {.logits = logits, .labels = labels, .name = kLoss}).loss();
}

/// mean((output - teacher)^2) as f32 [1].
Value squared_distance(Builder& builder, Value output, Value teacher) {
  const Value difference = ops::sub(builder, {.a = output, .b = teacher}).out();
  const Value square = ops::mul(builder, {.a = difference, .b = difference}).out();
  const Value flat = ops::reshape(builder, {.x = square, .dims = {1, -1}}).out();
  return ops::reduce_mean(builder, {.x = flat, .axes = {1}, .name = kLoss}).out();
}

Value teacher_loss(Graph& graph) {
  Builder builder(graph);
  Value loss;
  const std::vector<Value> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = teacher_argument(graph.body().output_names()[i]);
    const Value distance = squared_distance(builder, outputs[i], passes::add_argument(graph, name, outputs[i].type()));
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

passes::Gradients gradients_of(Model& step, Value loss) {
  try {
    return passes::autodiff(step, loss, parameters_of(step.graph));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    unsupported(
        "{}, so that nothing before it can be trained; move it behind the network's outputs, or quantize without "
        "training (quickstart --tune-epochs 0)",
        error.what());
  }
}

}  // namespace

std::string teacher_argument(const std::string& output) { return "teacher." + output; }

Model training_graph(const Model& model, const std::map<std::string, Dims>& extents, Loss loss,
                     const passes::OptimizerSpec& optimizer) {
  Model step = specialize(model, extents);
  passes::set_mode(step.graph, passes::Mode::training);
  if (quant::is_prepared(step)) step = passes::quantized_patterns(step, true);
  const Value value = loss == Loss::labels ? label_loss(step.graph) : teacher_loss(step.graph);
  const auto gradients = gradients_of(step, value);
  step.graph.set_outputs({value}, {kLoss});
  passes::OptimizerSpec spec = optimizer;
  spec.gradient_factor = channel_rates(model);
  passes::add_optimizer(step, gradients, spec);
  return step;
}

}  // namespace halfstep::train
