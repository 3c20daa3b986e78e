#include "halfstep/passes/optimize/late_reshapes.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/optimize/simplify.h"

namespace halfstep::passes {
namespace {

/// Returns the reshape that produces `value` from the result of a layer, or nothing. Nothing else may read the layer's
/// result, and the reshape must name all its extents.
std::optional<ops::Reshape> reshape_of_layer(Value value) {
  const auto reshape = value.producer<ops::Reshape>();
  if (!reshape || !only_reader(value) || std::ranges::count(reshape->dims(), 0) != 0) return std::nullopt;
  const auto layer = reshape->x().producer<ops::Linear>();
  return layer && only_reader(layer->out()) ? reshape : std::nullopt;
}

/// Applies `op` to the input of the reshape, with `operands`, and then the reshape under the name of `op`.
void exchange(Graph& graph, Op op, ops::Reshape reshape, std::vector<Value> operands) {
  const Op early = insert_before(graph, op, op.info(), std::move(operands), op.attributes());
  replace(graph, op, insert_before(graph, op, reshape.info(), {early.out(0)}, {{"dims", reshape.dims()}}));
  graph.erase(reshape);
}

/// Moves the reshape behind a sum of its result and a value of the same extents.
bool sink_through_sum(Graph& graph, Op sum, int own) {
  const auto reshape = reshape_of_layer(sum.in(own));
  const Value other = sum.in(1 - own);
  if (!reshape || other.type() != sum.in(own).type()) return false;
  const Value like = reshape->x();
  const Op rows =
      insert_before(graph, sum, reshape->info(), {other}, {{"dims", std::vector<int64_t>{-1, like.dims()[1]}}});
  std::vector<Value> operands = {like, like};
  operands[static_cast<size_t>(1 - own)] = rows.out(0);
  exchange(graph, sum, *reshape, std::move(operands));
  return true;
}

}  // namespace

void late_reshapes(Graph& graph) {
  for (const Op op : graph.ops()) {
    if (op.is<ops::Gelu, ops::Silu, ops::Relu, ops::Relu6, ops::LeakyRelu>()) {
      if (const auto reshape = reshape_of_layer(op.in(0))) exchange(graph, op, *reshape, {reshape->x()});
    } else if (op.is<ops::Add>()) {
      sink_through_sum(graph, op, 1) || sink_through_sum(graph, op, 0);
    }
  }
  simplify(graph);
}

}  // namespace halfstep::passes
