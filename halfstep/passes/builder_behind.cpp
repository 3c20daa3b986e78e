#include "halfstep/passes/builder_behind.h"

#include <algorithm>

namespace halfstep::passes {

Builder builder_behind(Graph& graph, Value value) {
  const auto ops = graph.ops();
  const auto producer = value.producer() ? std::ranges::find(ops, value.producer()) : ops.end();
  const auto next = value.producer() ? producer + 1 : ops.begin();
  return next == ops.end() ? Builder(graph) : Builder::before(graph, *next);
}

}  // namespace halfstep::passes
