// The number of elements.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Size(Translator& translator, const Node& node) {
  const Type type = translator.in(node, 0).type();
  Operand result;
  if (type.is_static()) {
    const int64_t count = count_elements(type.dims);
    result = Translator::known(Tensor::of<int64_t>(DType::i64, {}, {&count, 1}));
  } else {
    result.elements = Elements{{Element()}, true};
  }
  translator.set(node, 0, result);
}

}  // namespace halfstep::formats::onnx
