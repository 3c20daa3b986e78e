// Along one axis; before opset 13 along all axes from one on together.
#include "halfstep/formats/onnx/flat.h"

namespace halfstep::formats::onnx {

void translate_Softmax(Translator& translator, const Node& node) { translate_flat(translator, node); }

}  // namespace halfstep::formats::onnx
