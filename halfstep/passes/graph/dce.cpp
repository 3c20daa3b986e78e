#include "halfstep/passes/graph/dce.h"

#include <algorithm>
#include <ranges>

#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
bool has_effect(Op op) {
  if (updates_state(op)) return true;
  return std::ranges::any_of(op.regions(), [](const auto& region) {
    const std::vector<Op> ops = region->ops();
    return std::ranges::any_of(ops, has_effect);
  });
}

/// Visits the last operation first, so that operands read only by dead operations are already dead at their turn.
void dce(Graph& graph, const Block& block) {
  const std::vector<Op> ops = block.ops();
  for (const Op op : ops | std::views::reverse) {
    for (const auto& region : op.regions()) dce(graph, *region);
    const std::vector<Value> results = op.results();
    if (std::ranges::all_of(results, &Value::unused) && !has_effect(op)) graph.erase(op);
  }
}

void dce(Graph& graph) { dce(graph, graph.body()); }

void dce(Model& model) {
  dce(model.graph);
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.unused()) erase_tensor(model, tensor);
  }
}

}  // namespace halfstep::passes
