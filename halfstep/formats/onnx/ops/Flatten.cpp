// Reshapes to two axes. A negative axis counts from the end.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Flatten(Translator& translator, const Node& node) {
  const int64_t axis = node.integer("axis", 1);
  if (axis >= 0) return translator.by_record(node);
  const auto rank = static_cast<int64_t>(translator.in(node, 0).dims().size());
  translator.set_all(node, translator.by_record(node.with("axis", axis + rank), translator.inputs(node)));
}

}  // namespace halfstep::formats::onnx
