// By the record, but for noop_with_empty_axes: then no axes mean that nothing is done.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_ReduceSum(Translator& translator, const Node& node) {
  const Operand axes = translator.in(node, 1);
  const bool is_empty = !node.integers("axes") && (!axes.there() || axes.type().dims == Dims{0});
  if (node.integer("noop_with_empty_axes", 0) != 0 && is_empty) {
    node.attribute("keepdims");  // of axes that there are none of
    return translator.set(node, 0, translator.in(node, 0));
  }
  const Node plain = node.without("noop_with_empty_axes");
  translator.set_all(node, translator.by_record(plain, translator.inputs(node)));
}

}  // namespace halfstep::formats::onnx
