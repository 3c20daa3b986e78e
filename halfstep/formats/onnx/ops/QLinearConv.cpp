// By the record, without kernel_shape, which only repeats the extents of the weights.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_QLinearConv(Translator& translator, const Node& node) {
  constexpr size_t kWeights = 3;
  const Operand w = translator.in(node, kWeights);
  if (!w.there() || w.dims().size() < 3) fail("{}: found no weights of at least 3 extents", node.where());
  const Dims weight = w.dims();
  const std::vector<int64_t> kernel(weight.begin() + 2, weight.end());
  if (const auto said = node.integers("kernel_shape"); said && *said != kernel)
    fail("{}: kernel_shape is {}, but the weights have {}", node.where(), to_string(*said), to_string(kernel));
  translator.set_all(node, translator.by_record(node.without("kernel_shape"), translator.inputs(node)));
}

}  // namespace halfstep::formats::onnx
