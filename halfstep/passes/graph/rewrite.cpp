#include "halfstep/passes/graph/rewrite.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace halfstep::passes {

Op insert_before(Graph& graph, Op before, const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
  return graph.insert({&info, std::move(operands), std::move(attributes), before.name(), before.location()}, nullptr,
                      before);
}

void replace(Graph& graph, Op old, Op made) {
  const std::string name = old.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
  old.out(0).replace_all_uses_with(made.out(0));
  graph.erase(old);
  graph.rename(made, name);
}

namespace {

/// `gone`: results of erased operations, which several operands may share.
void erase_unread(Graph& graph, Value value, std::set<const detail::ValueNode*>& gone) {
  if (!value || gone.contains(value.node())) return;
  const Op op = value.producer();
  if (!op || std::ranges::any_of(op.results(), [](Value result) { return !result.unused(); })) return;
  const std::vector<Value> operands = op.operands();
  for (const Value result : op.results()) gone.insert(result.node());
  graph.erase(op);
  for (const Value operand : operands) erase_unread(graph, operand, gone);
}

}  // namespace

void erase_unread(Graph& graph, Value value) {
  std::set<const detail::ValueNode*> gone;
  erase_unread(graph, value, gone);
}

}  // namespace halfstep::passes
