// Whether its input is present, which is true for a tensor.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_OptionalHasElement(Translator& translator, const Node& node) {
  const double is_there = translator.in(node, 0).there() ? 1 : 0;
  translator.set(node, 0, Translator::known(filled(DType::boolean, {}, is_there)));
}

}  // namespace halfstep::formats::onnx
