#include "halfstep/formats/onnx/flat.h"

#include <algorithm>

namespace halfstep::formats::onnx {

void translate_flat(Translator& translator, const Node& node) {
  constexpr int64_t kAlongOneAxis = 13;
  if (node.version() >= kAlongOneAxis) return translator.by_record(node);
  const Operand x = translator.in(node, 0);
  const Dims dims = x.dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t axis = node.integer("axis", 1) + (node.integer("axis", 1) < 0 ? rank : 0);
  if (axis < 0 || axis > rank) fail("{}: found axis {} of {}", node.where(), axis, to_string(dims));
  const Node last = node.with("axis", int64_t{-1}).with_version(kAlongOneAxis);
  if (axis == rank - 1) return translator.set_all(node, translator.by_record(last, {x}));
  const Operand flat = translator.make_one(node, "flatten", {x}, {{"axis", axis}});
  const Operand result = translator.by_record(last, {flat})[0];
  Dims back = dims;
  if (std::count(back.begin(), back.end(), kUnknown) > 1)
    throw NeedsExtents(node.where() + ": more than one extent is open");
  translator.set(node, 0, translator.reshaped(node, result, back));
}

}  // namespace halfstep::formats::onnx
