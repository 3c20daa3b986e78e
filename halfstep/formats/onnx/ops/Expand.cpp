// Repeats x as in broadcasting with a list of extents.
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Expand(Translator& translator, const Node& node) {
  const auto extents = translator.open_elements(translator.in(node, 1));
  if (!extents) return translator.by_record(node);
  translator.set(node, 0, expanded_to(translator, node, translator.in(node, 0), extents->values));
}

}  // namespace halfstep::formats::onnx
