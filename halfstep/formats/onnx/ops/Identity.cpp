// Returns its input.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Identity(Translator& translator, const Node& node) { translator.set(node, 0, translator.in(node, 0)); }

}  // namespace halfstep::formats::onnx
