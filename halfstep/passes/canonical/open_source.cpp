#include "halfstep/passes/canonical/open_source.h"

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/canonical/layers/open_products.h"
#include "halfstep/passes/canonical/layers/open_recurrent.h"
#include "halfstep/passes/canonical/open_attention.h"
#include "halfstep/passes/graph/open_sums.h"

namespace halfstep::passes {

Model with_open_source(const Model& prepared) {
  Model result = prepared;
  if (!prepared.source) return result;
  Source opened = *prepared.source;
  opened.network = clone(opened.network);
  std::set<std::string> kept;  // layers that preparation did not open
  for (const Op op : prepared.graph.all_ops()) {
    if (op.is<ops::Lstm, ops::Gru, ops::Rnn, ops::Einsum, ops::MatmulBroadcast>()) kept.insert(op.name());
  }
  in_each_block(opened.network.graph, [&] {
    open_attention(opened.network);
    open_recurrent(opened.network, kept);
    open_products(opened.network, kept);
    open_sums(opened.network);
  });
  result.source = std::make_shared<Source>(std::move(opened));
  return result;
}

}  // namespace halfstep::passes
