#include "halfstep/passes/quantized/bypass_quantizers.h"

#include "halfstep/core/base/status.h"

namespace halfstep::passes {
namespace {

void bypass(Graph& graph, const Block& block, const std::function<bool(Op)>& goes) {
  for (const Op op : block.ops()) {
    for (const auto& region : op.regions()) bypass(graph, *region, goes);
    if (op.info().quant.trait != Trait::quantizer || !goes(op)) continue;
    const int x = op.info().input("x");
    HS_CHECK(x >= 0);
    op.out(0).replace_all_uses_with(op.in(x));
    graph.erase(op);
  }
}

}  // namespace

void bypass_quantizers(Model& model) {
  bypass_quantizers(model.graph, [](Op) { return true; });
  model.metadata.stage = Stage::float_network;
}

void bypass_quantizers(Graph& graph, const std::function<bool(Op)>& goes) { bypass(graph, graph.body(), goes); }

}  // namespace halfstep::passes
