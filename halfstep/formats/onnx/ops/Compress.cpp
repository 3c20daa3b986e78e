// Selects the slices for which a known condition holds, or elements of all axes together without an axis.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Compress(Translator& translator, const Node& node) {
  Operand x = translator.in(node, 0);
  const std::vector<int64_t> condition = translator.integers(node, translator.in(node, 1));
  std::vector<int64_t> indices;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) indices.push_back(static_cast<int64_t>(i));
  }
  if (node.attribute("axis") == nullptr) x = translator.reshaped(node, x, {-1});
  const Tensor list = Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(indices.size())}, indices);
  translator.set(
      node, 0, translator.make_one(node, "gather", {x, Translator::known(list)}, {{"axis", node.integer("axis", 0)}}));
}

}  // namespace halfstep::formats::onnx
