#include "halfstep/passes/graph/close_extents.h"

#include <algorithm>

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

/// Whether all elements of a stored condition are true, or false with inverse.
bool fills_all(const Model& model, const ops::MaskFill& fill) {
  if (!fill.condition().is_tensor()) return false;
  const auto hides = model.tensors.at(fill.condition().name()).data<bool>();
  return std::ranges::all_of(hides, [&](bool one) { return one != fill.inverse(); });
}

/// Replaces a value of known extents that only its operand's extents decide by a broadcast number. Such a value is the
/// first state of a recurrent layer.
void close_filled(Model& model, const ops::MaskFill& fill) {
  const Value out = fill.out();
  if (is_output(out) || !out.type().is_static() || !fill.value().is_tensor() || !fills_all(model, fill)) return;
  const Tensor number = model.tensors.at(fill.value().name()).reshaped({});
  const Value stored = add_tensor(model, out.name() + ".number", number, Role::constant);
  Builder builder = Builder::before(model.graph, fill);
  const Value made = ops::expand(builder, {.x = stored, .dims = out.dims(), .name = out.name()}).out();
  out.replace_all_uses_with(made);
  const std::string name = fill.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
  model.graph.erase(fill);
  model.graph.rename(made.producer(), name);
}

}  // namespace

void close_extents(Model& model) {
  for (const Op op : model.graph.all_ops()) {
    if (op.is<ops::MaskFill>()) close_filled(model, ops::MaskFill(op.node()));
  }
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
    const std::string name = reshape.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
    const Op closed = model.graph.insert(
        {&ops::Reshape::record(), {reshape.x()}, {{"dims", out.dims()}}, name, reshape.location()}, nullptr, reshape);
    out.replace_all_uses_with(closed.out(0));
    model.graph.erase(reshape);
    model.graph.rename(closed, name);
  }
}

}  // namespace halfstep::passes
