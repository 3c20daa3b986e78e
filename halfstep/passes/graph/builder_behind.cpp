#include "halfstep/passes/graph/builder_behind.h"

namespace halfstep::passes {

Builder builder_behind(Graph& graph, Value value) {
  const Op next = graph.body().next(value.producer());
  return next ? Builder::before(graph, next) : Builder(graph);
}

}  // namespace halfstep::passes
