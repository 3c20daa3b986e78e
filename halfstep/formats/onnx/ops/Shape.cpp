// The extents from start to end as integers. Fixed extents are constants.
#include <algorithm>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Shape(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  const auto rank = static_cast<int64_t>(x.dims().size());
  const auto clamped = [rank](int64_t axis) { return std::clamp(axis < 0 ? axis + rank : axis, int64_t{0}, rank); };
  const int64_t start = clamped(node.integer("start", 0)), end = clamped(node.integer("end", rank));
  Elements elements;
  for (int64_t i = start; i < end; ++i) elements.values.push_back(extent_of(translator, x, static_cast<size_t>(i)));
  Operand result;
  if (elements.known())
    result = Translator::known(elements.tensor());
  else
    result.elements = elements;
  translator.set(node, 0, result);
}

}  // namespace halfstep::formats::onnx
