// The number of elements.
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Size(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  const Type type = x.type();
  Operand result;
  if (type.is_static()) {
    const int64_t count = count_elements(type.dims);
    result = Translator::known(Tensor::of<int64_t>(DType::i64, {}, {&count, 1}));
  } else {
    result.elements = Elements{{extent_of(translator, translator.reshaped(node, x, {-1}), 0)}, true};
  }
  translator.set(node, 0, result);
}

}  // namespace halfstep::formats::onnx
