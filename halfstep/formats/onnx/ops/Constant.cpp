// A known tensor, in any form of the attribute.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Constant(Translator& translator, const Node& node) {
  for (const auto& [name, value] : node.attributes()) {
    node.attribute(name);
    if (name == "value")
      return translator.set(node, 0,
                            Translator::known(translator.file().contents(value->t(), node.where()), node.output(0)));
    Operand result;
    const std::vector<int64_t> ints(value->ints().begin(), value->ints().end());
    const std::vector<float> floats(value->floats().begin(), value->floats().end());
    const int64_t i = value->i();
    const float f = value->f();
    if (name == "value_int")
      result.tensor = Tensor::of<int64_t>(DType::i64, {}, {&i, 1});
    else if (name == "value_float")
      result.tensor = Tensor::of<float>(DType::f32, {}, {&f, 1});
    else if (name == "value_ints")
      result.tensor = Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(ints.size())}, ints);
    else if (name == "value_floats")
      result.tensor = Tensor::of<float>(DType::f32, {static_cast<int64_t>(floats.size())}, floats);
    else
      fail(errors::attribute_not_supported(node.where(), name));
    return translator.set(node, 0, result);
  }
  fail(errors::part_missing(node.where(), "the value"));
}

}  // namespace halfstep::formats::onnx
