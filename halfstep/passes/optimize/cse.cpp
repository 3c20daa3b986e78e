#include "halfstep/passes/optimize/cse.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

/// Key of a computation. Attributes are compared as text, where a NaN equals itself and 0.0 differs from -0.0.
using Semantics = std::tuple<const OpInfo*, std::vector<detail::ValueNode*>, std::string>;

Semantics semantics(Op op) {
  std::string attributes;
  for (const auto& [name, value] : op.attributes()) attributes += fmt::format("{}:{};", name, to_string(value));
  return {&op.info(), op.node()->operands, std::move(attributes)};
}

void merge(Op op, Op first) {
  for (const Value result : op.results()) result.replace_all_uses_with(first.out(result.port()));
}

void merge_in(Graph& graph, const Block& block) {
  std::map<Semantics, Op> seen;
  for (const Op op : block.ops()) {
    for (const auto& region : op.regions()) merge_in(graph, *region);
    if (!op.regions().empty() || updates_state(op)) continue;
    const auto [first, is_new] = seen.emplace(semantics(op), op);
    const std::vector<Value> results = op.results();
    if (is_new || std::ranges::any_of(results, is_output)) continue;
    merge(op, first->second);
    graph.erase(op);
  }
}

}  // namespace

void cse(Graph& graph) { merge_in(graph, graph.body()); }

}  // namespace halfstep::passes
