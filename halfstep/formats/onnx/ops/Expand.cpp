// x repeated as broadcasting it with a list of extents does.
#include "halfstep/formats/onnx/translator.h"
#include "halfstep/formats/open_extents.h"

namespace halfstep::formats::onnx {

void translate_Expand(Translator& translator, const Node& node) {
  const Operand extents = translator.in(node, 1);
  if (!extents.elements) return translator.by_record(node);
  translator.set(node, 0, expanded_to(translator, node, translator.in(node, 0), extents.elements->values));
}

}  // namespace halfstep::formats::onnx
