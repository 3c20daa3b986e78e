#include "halfstep/passes/bypass_quantizers.h"

#include "halfstep/base/status.h"

namespace halfstep::passes {
namespace {

void bypass(Graph& graph, const Block& block) {
  for (const Op op : block.ops()) {
    for (const auto& region : op.regions()) bypass(graph, *region);
    if (op.info().quant.trait != Trait::quantizer) continue;
    const int x = op.info().input("x");
    HS_CHECK(x >= 0);
    op.out(0).replace_all_uses_with(op.in(x));
    graph.erase(op);
  }
}

}  // namespace

void bypass_quantizers(Graph& graph) { bypass(graph, graph.body()); }

}  // namespace halfstep::passes
