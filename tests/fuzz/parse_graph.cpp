// A text that parses is a graph that verifies, prints and parses to itself.
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"
#include "tests/fuzz/target.h"

namespace {

using namespace halfstep;

bool returns_to_itself(const Graph& graph) {
  try {
    verify(graph);
    return parse(print(graph, {.locations = true})) == graph;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

HS_FUZZ_TARGET(bytes) {
  const Graph graph = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  HS_CHECK(returns_to_itself(graph));
}
