// A pool by the record of its name; auto_pad and ceil_mode become padding.
#include "halfstep/formats/onnx/window.h"

namespace halfstep::formats::onnx {

void translate_MaxPool(Translator& translator, const Node& node) { translate_pool(translator, node); }

}  // namespace halfstep::formats::onnx
