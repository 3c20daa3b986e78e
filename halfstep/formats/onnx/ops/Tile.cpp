// Repeats x along each axis. The counts may depend on dynamic extents.
#include <algorithm>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Tile(Translator& translator, const Node& node) {
  const auto times = translator.open_elements(translator.in(node, 1));
  if (!times) return translator.by_record(node);
  Operand x = translator.in(node, 0);
  if (times->values.size() != x.dims().size())
    fail(errors::wrong_count(node.where(), "repeats", times->values.size(), x.dims().size()));
  std::vector<int64_t> known;
  for (size_t axis = 0; axis < times->values.size(); ++axis) {
    const Element& one = times->values[axis];
    known.push_back(one ? *one : 1);
    if (!one) x = repeated(translator, node, x, axis, one);
  }
  const bool tiles = std::ranges::any_of(known, [](int64_t count) { return count != 1; });
  translator.set(node, 0, tiles ? translator.make_one(node, "tile", {x}, {{"repeats", known}}) : x);
}

}  // namespace halfstep::formats::onnx
