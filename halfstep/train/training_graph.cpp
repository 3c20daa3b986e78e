#include "halfstep/train/training_graph.h"

#include "halfstep/base/status.h"
#include "halfstep/ir/ops.h"
#include "halfstep/passes/autodiff.h"
#include "halfstep/passes/quantized_patterns.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/quant/prepare.h"

namespace halfstep::train {
namespace {

Value append_loss(Graph& graph) {
  const Value logits = graph.outputs().front();
  if (logits.dims().size() != 2)
    fail("network '{}': output '{}' is {}, expected [batch, classes]", graph.name(), logits.name(),
         to_string(logits.type()));
  const Value labels = graph.add_argument(kLabels, {DType::i32, {logits.dims()[0]}});
  Builder builder(graph);
  return ops::softmax_cross_entropy(builder, {.logits = logits, .labels = labels, .name = kLoss}).loss();
}

std::vector<std::string> parameters_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value tensor : graph.tensors()) {
    if (tensor.role() == Role::parameter && !tensor.unused()) names.push_back(tensor.name());
  }
  return names;
}

}  // namespace

Model training_graph(const Model& model, const Dims& sample_dims, const passes::OptimizerSpec& optimizer) {
  if (model.graph.arguments().size() != 1 || model.graph.outputs().empty())
    fail("network '{}' has {} inputs, expected one that takes samples", model.graph.name(),
         model.graph.arguments().size());
  Model step = specialize(model, {{model.graph.arguments().front().name(), sample_dims}});
  passes::set_mode(step.graph, passes::Mode::training);
  if (quant::is_prepared(step)) step = passes::quantized_patterns(step, true);
  const Value loss = append_loss(step.graph);
  const auto gradients = passes::autodiff(step, loss, parameters_of(step.graph));
  step.graph.set_outputs({loss}, {kLoss});
  passes::add_optimizer(step, gradients, optimizer);
  return step;
}

}  // namespace halfstep::train
