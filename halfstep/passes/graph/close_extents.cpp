#include "halfstep/passes/graph/close_extents.h"

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

Tensor numbers_of(const ops::Positions& positions) {
  Tensor tensor(DType::i64, positions.out().dims());
  const auto numbers = tensor.data<int64_t>();
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = positions.start() + static_cast<int64_t>(i) * positions.step();
  return tensor;
}

}  // namespace

void close_extents(Model& model) {
  for (const Op op : model.graph.all_ops()) {
    if (!op.is<ops::Positions>()) continue;
    const ops::Positions positions(op.node());
    const Value out = positions.out();
    if (is_output(out) || !out.type().is_static()) continue;
    out.replace_all_uses_with(add_tensor(model, out.name(), numbers_of(positions), Role::constant));
    model.graph.erase(positions);
  }
  for (const Op op : model.graph.all_ops()) {
    if (!op.is<ops::ReshapeBy>()) continue;
    const ops::ReshapeBy reshape(op.node());
    const Value out = reshape.out();
    if (!out.type().is_static()) continue;
    const std::string name = reshape.name();
    const Op closed = model.graph.insert(
        {&ops::Reshape::record(), {reshape.x()}, {{"dims", out.dims()}}, name, reshape.location()}, nullptr, reshape);
    out.replace_all_uses_with(closed.out(0));
    model.graph.erase(reshape);
    model.graph.rename(closed, name);
  }
}

}  // namespace halfstep::passes
