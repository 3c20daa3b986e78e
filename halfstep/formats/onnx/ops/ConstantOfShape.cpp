// A tensor filled with one value, whose extents may be dynamic.
#include <algorithm>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_ConstantOfShape(Translator& translator, const Node& node) {
  const Operand shape = translator.in(node, 0);
  const auto* value = node.attribute("value");
  const Tensor one = value == nullptr ? Tensor(DType::f32, {1}) : translator.file().contents(value->t(), node.where());
  if (one.size() != 1) fail(errors::input_not_one_element(node.where(), "the value " + to_string(one.type())));
  if (const auto extents = translator.open_elements(shape))
    return translator.set(node, 0, expanded_to(translator, node, Translator::known(one), extents->values));
  const Dims dims = translator.integers(node, shape);
  constexpr int64_t kMost = int64_t{1} << 24;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }) || count_elements(dims) > kMost)
    fail(errors::constant_too_large(node.where(), "the extents " + to_string(dims), kMost));
  Tensor result = Tensor::uninitialized(one.dtype(), dims);
  const size_t width = size_of(one.dtype());
  for (size_t at = 0; at < result.bytes(); at += width) std::copy_n(one.raw(), width, result.raw() + at);
  translator.set(node, 0, Translator::known(result));
}

}  // namespace halfstep::formats::onnx
