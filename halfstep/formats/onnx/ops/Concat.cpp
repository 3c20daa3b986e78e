// Values one after the other; before opset 4 the axis may be left out.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Concat(Translator& translator, const Node& node) {
  if (node.inputs() == 1) {
    node.attribute("axis");  // any will do
    return translator.set(node, 0, translator.in(node, 0));
  }
  translator.by_record(node);
}

}  // namespace halfstep::formats::onnx
