// The mean over all spatial axes; one axis as a plane.
#include "halfstep/formats/onnx/window.h"

namespace halfstep::formats::onnx {

void translate_GlobalAveragePool(Translator& translator, const Node& node) {
  std::vector<Operand> inputs = translator.inputs(node);
  if (inputs.size() != 1 || inputs[0].dims().size() != 3) return translator.by_record(node);
  std::vector<Operand> results = translator.by_record(node, as_planes(translator, node, inputs));
  translator.set(node, 0, as_line(translator, node, results[0]));
}

}  // namespace halfstep::formats::onnx
