#include "halfstep/engine/compile/outline.h"

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/core/ir/ops.h"

namespace halfstep::compiler {
namespace {

using Nodes = std::set<const detail::OpNode*>;

/// Operations with dynamic dimensions, in the graph's order.
std::vector<Op> open_operations(const Graph& graph) {
  std::vector<Op> open;
  Nodes nodes;
  for (const Op op : graph.ops()) {
    const std::vector<Value> operands = op.operands();
    const bool reads_open = std::ranges::any_of(operands, [&](Value operand) {
      return operand && (!operand.type().is_static() || nodes.contains(operand.producer().node()));
    });
    if (!reads_open) continue;
    open.push_back(op);
    nodes.insert(op.node());
  }
  return open;
}

/// Values that `ops` read from the rest of the graph, without tensors, in the order of first use.
std::vector<Value> values_from_outside(const std::vector<Op>& ops) {
  Nodes inside;
  for (const Op op : ops) inside.insert(op.node());
  std::vector<Value> values;
  for (const Op op : ops) {
    for (const Value operand : op.operands()) {
      if (!operand || operand.is_tensor() || inside.contains(operand.producer().node())) continue;
      if (std::ranges::find(values, operand) == values.end()) values.push_back(operand);
    }
  }
  return values;
}

}  // namespace

void outline_open(Graph& graph) {
  const std::vector<Op> open = open_operations(graph);
  if (open.empty()) return;
  const std::vector<Value> captured = values_from_outside(open);
  Builder builder(graph);
  const Op rest = ops::call(builder, {.captured = captured, .name = "rest"});
  Block& region = graph.add_region(rest);
  std::map<const detail::ValueNode*, Value> arguments;
  for (const Value value : captured)
    arguments.emplace(value.node(), region.add_argument(graph.unique_name(value.name() + ".in"), value.type()));
  std::vector<Value> results;
  const std::vector<Value> outputs = graph.outputs();
  for (const Op op : open) {
    graph.move(op, region);
    for (size_t i = 0; i < op.operands().size(); ++i) {
      const Value operand = op.operands()[i];
      if (operand && arguments.contains(operand.node()))
        op.set_operand(static_cast<int>(i), arguments.at(operand.node()));
    }
    for (const Value result : op.results()) {
      if (std::ranges::find(outputs, result) != outputs.end()) results.push_back(result);
    }
  }
  region.set_outputs(results);
  rest.close_regions();
  std::vector<Value> kept = outputs;
  for (size_t i = 0; i < results.size(); ++i) std::ranges::replace(kept, results[i], rest.out(static_cast<int>(i)));
  graph.set_outputs(std::move(kept), graph.body().output_names());
}

}  // namespace halfstep::compiler
