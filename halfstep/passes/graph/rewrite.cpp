#include "halfstep/passes/graph/rewrite.h"

#include <algorithm>

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

void erase_unread(Graph& graph, Value value) {
  const Op op = value ? value.producer() : Op();
  if (!op || std::ranges::any_of(op.results(), [](Value result) { return !result.unused(); })) return;
  const std::vector<Value> operands = op.operands();
  graph.erase(op);
  for (const Value operand : operands) erase_unread(graph, operand);
}

}  // namespace halfstep::passes
