#include "halfstep/passes/canonical/layers/open_moves.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {

using Ints = std::vector<int64_t>;

bool has_open_axes(Value x) { return std::ranges::count(x.dims().begin() + 2, x.dims().end(), kUnknown) > 0; }

Value OpenMoves::insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
  return insert_before(model_.graph, before_, info, std::move(operands), std::move(attributes)).out(0);
}

Value OpenMoves::column(Value x, size_t axis, int64_t start, int64_t step) {
  const Value list =
      insert(ops::Positions::record(), {x}, {{"axis", static_cast<int64_t>(axis)}, {"start", start}, {"step", step}});
  return insert(ops::Unsqueeze::record(), {list}, {{"axes", Ints{1}}});
}

Value OpenMoves::wide(Value column, int64_t columns) {
  return columns == 1 ? column : insert(ops::Expand::record(), {column}, {{"dims", Ints{1, columns}}});
}

Value OpenMoves::gathered(Value x, size_t axis, Value indices) {
  const Value list = insert(ops::Reshape::record(), {indices}, {{"dims", Ints{-1}}});
  return insert(ops::Gather::record(), {x, list}, {{"axis", static_cast<int64_t>(axis)}});
}

Value OpenMoves::with_zeros(Value x, size_t axis, int64_t zeros) {
  const auto place = static_cast<int64_t>(axis);
  const Value padded = insert(ops::Pad::record(), {x}, {{"pads", Ints{0, 1}}, {"axes", Ints{place}}});
  const Value zero = wide(column(x, axis, -1, 0), zeros);  // the last element
  return gathered(padded, axis, insert(ops::Concat::record(), {column(x, axis, 0, 1), zero}, {{"axis", int64_t{1}}}));
}

Value OpenMoves::repeated(Value x, size_t axis, int64_t times) {
  return gathered(x, axis, wide(column(x, axis, 0, 1), times));
}

Value OpenMoves::window_starts(Value x, size_t axis, const SpatialAxis& window) {
  const Value places = insert(ops::Positions::record(), {x}, {{"axis", static_cast<int64_t>(axis)}});
  const int64_t end = window.span() == 1 ? std::numeric_limits<int64_t>::max() : 1 - window.span();
  return insert(ops::Slice::record(), {places},
                {{"starts", Ints{0}}, {"ends", Ints{end}}, {"axes", Ints{0}}, {"steps", Ints{window.stride}}});
}

Value OpenMoves::windows(Value x, size_t axis, Value starts, const SpatialAxis& window) {
  Tensor taps(DType::i64, {window.kernel});
  for (int64_t tap = 0; tap < window.kernel; ++tap)
    taps.data<int64_t>()[static_cast<size_t>(tap)] = tap * window.dilation;
  const Value all = add_tensor(model_, before_.name() + ".taps", std::move(taps), Role::constant);
  const Value apart = insert(ops::Unsqueeze::record(), {starts}, {{"axes", Ints{1}}});
  const Value indices = insert(ops::Add::record(), {apart, all});
  return insert(ops::Gather::record(), {x, indices}, {{"axis", static_cast<int64_t>(axis)}});
}

Value OpenMoves::as_images(Value x, Ints order, int64_t channels) {
  const Value turned = insert(ops::Transpose::record(), {x}, {{"perm", std::move(order)}});
  const Value joined = insert(ops::Reshape::record(), {turned}, {{"dims", Ints{0, 0, -1, channels}}});
  return insert(ops::Transpose::record(), {joined}, {{"perm", Ints{2, 3, 0, 1}}});
}

Value OpenMoves::from_images(Value images, Value like, size_t axis, Ints order) {
  const Value turned = insert(ops::Transpose::record(), {images}, {{"perm", Ints{2, 3, 0, 1}}});
  const Value apart =
      insert(ops::ReshapeBy::record(), {turned, like},
             {{"dims", Ints{0, 0, -1, 1, images.dims()[1]}}, {"at", int64_t{3}}, {"axis", static_cast<int64_t>(axis)}});
  return insert(ops::Transpose::record(), {apart}, {{"perm", std::move(order)}});
}

}  // namespace halfstep::passes
