// By the record; a zero point of one element takes the extents of the scale, which may be [] or [1].
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_QuantizeLinear(Translator& translator, const Node& node) {
  std::vector<Operand> inputs = translator.inputs(node);
  if (inputs.size() < 2 || !inputs[1].there()) fail("{}: found no scale", node.where());
  const Dims scale = inputs[1].dims();
  const auto is_one = [](const Dims& dims) { return dims.empty() || dims == Dims{1}; };
  if (inputs.size() > 2 && inputs[2].there() && is_one(scale) && is_one(inputs[2].dims()) && inputs[2].dims() != scale)
    inputs[2] = translator.reshaped(node, inputs[2], scale);
  translator.set_all(node, translator.by_record(node, inputs));
}

}  // namespace halfstep::formats::onnx
