#include "halfstep/passes/gradient/region_gradients.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/gradient/handed_tensors.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

/// Returns the result of `op` that updates the tensor, or null if another operation updates it.
Value updated_by(Op op, Value tensor) {
  for (const Value result : op.results()) {
    const int state = op.info().output_at(result.port()).state_of;
    if (state >= 0 && op.in(state) == tensor) return result;
  }
  return {};
}

/// Returns the tensors in the regions of `op` that any operation updates. Tensors that an operation before `op` updated
/// in its regions are excluded: they already hold their final contents.
std::vector<Handed> handed_to(Op op) {
  const std::vector<Op> ops = op.node()->block->ops();
  const auto place = [&](Op of) { return std::ranges::find(ops, of) - ops.begin(); };
  std::vector<Handed> handed;
  for (const Value tensor : reads(op)) {
    const Op updater = tensor.is_tensor() ? updater_of(tensor) : Op();
    if (!updater) continue;
    Op around = updater;
    while (around.node()->block != op.node()->block) around = around.node()->block->parent();
    if (place(around) >= place(op)) {
      handed.push_back({tensor, tensor});
    } else if (around == updater) {
      handed.push_back({tensor, updated_by(updater, tensor)});
    }
  }
  return handed;
}

}  // namespace

Value RegionNetwork::tensor(Value outside) {
  const Value found = graph().tensor(outside.name());
  return found ? found : graph().add_tensor(outside.name(), outside.type(), outside.role());
}

Value RegionNetwork::add_gradient(Value of, const Type& type) {
  return graph().add_argument(graph().unique_name(of.name() + ".grad"), type);
}

Value RegionNetwork::gradient_of(Value value) const {
  const auto found = gradients.find(value.node());
  return found == gradients.end() ? Value() : found->second;
}

Value RegionNetwork::gradient_or_zeros(Value value) {
  if (const Value gradient = gradient_of(value)) return gradient;
  Builder at_end = builder();
  return zeros_like(at_end, value);
}

Value zeros_like(Builder& builder, Value value) {
  return ops::zeros_like(builder, {.x = value, .name = value.name() + ".zeros"}).out();
}

FlowOperation::FlowOperation(Model& of, Builder& with, Op flow, const std::vector<Value>& grads,
                             const ValueSet& depends)
    : model(of),
      builder(with),
      op(flow),
      parts(flow),
      operands(flow.operands()),
      out_grads(grads),
      handed(handed_to(flow)),
      depends_(depends) {
  for (size_t i = 0; i < parts.values(); ++i) {
    if (is_wanted(operand(i))) wanted.insert(i);
  }
  for (const auto& region : op.regions()) {
    for (const Value tensor : tensors_in(*region)) {
      if (is_wanted(tensor) && std::ranges::find(tensors, tensor) == tensors.end()) tensors.push_back(tensor);
    }
  }
}

std::vector<Value> FlowOperation::contents() const {
  std::vector<Value> values;
  for (const Handed& each : handed) values.push_back(each.contents);
  return values;
}

Op FlowOperation::insert(const OpInfo& info, std::vector<Value> values, Attributes attributes) const {
  return builder.insert({&info, std::move(values), std::move(attributes), op.name() + "." + info.name, {}});
}

RegionNetwork FlowOperation::network(size_t region) const {
  RegionNetwork made{region_model(model, *op.regions()[region], op.name()), {}, {}, {}, {}, {}};
  for (const Handed& each : handed) made.handed.push_back(made.tensor(each.tensor));
  made.finals = hand_through(made.graph(), made.handed);
  made.arguments = made.graph().arguments();
  made.outputs = made.graph().outputs();
  return made;
}

void FlowOperation::differentiate(RegionNetwork& network, const std::vector<Seed>& seeds,
                                  const std::vector<Value>& of) const {
  try {
    const std::vector<Value> gradients = autodiff(network.model, seeds, of);
    for (size_t i = 0; i < of.size(); ++i) {
      if (gradients[i]) network.gradients.emplace(of[i].node(), gradients[i]);
    }
  } catch (const Error& refusal) {
    std::vector<Diagnostic> objections = refusal.diagnostics();
    for (Diagnostic& objection : objections) {
      if (const Op inner = model.graph.op(objection.layer)) objection.where = inner.where();
    }
    throw Error(std::move(objections));
  }
}

void FlowOperation::add_region(Op made, RegionNetwork& network, const std::vector<Value>& arguments,
                               const std::vector<Value>& outputs) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) names.push_back(std::to_string(i));
  network.graph().set_outputs(outputs, names);
  dce(network.graph());
  Block& block = model.graph.add_region(made);
  std::map<const detail::ValueNode*, Value> stand_ins;
  for (const Value value : arguments)
    stand_ins.emplace(value.node(), block.add_argument(model.graph.unique_name(value.name()), value.type()));
  const auto stand_in = [&](Value value) {
    const auto found = stand_ins.find(value.node());
    return found == stand_ins.end() ? model.graph.tensor(value.name()) : found->second;
  };
  copy_into(network.graph().body(), block, stand_in, outputs);
}

}  // namespace halfstep::passes
