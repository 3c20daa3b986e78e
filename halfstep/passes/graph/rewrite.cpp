#include "halfstep/passes/graph/rewrite.h"

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

}  // namespace halfstep::passes
