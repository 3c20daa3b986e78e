// Concatenates values along an axis, which is optional before opset 4.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Concat(Translator& translator, const Node& node) {
  if (node.inputs() == 1) {
    node.attribute("axis");  // marks it as read, because any axis works
    return translator.set(node, 0, translator.in(node, 0));
  }
  translator.by_record(node);
}

}  // namespace halfstep::formats::onnx
