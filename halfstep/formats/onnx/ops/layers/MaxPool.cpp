// The largest element of each window: max_pool2d if it supports the window, else max_pool. auto_pad becomes padding.
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_MaxPool(Translator& translator, const Node& node) {
  translate_pool(translator, node, "max_pool2d", "max_pool", {}, false);
}

}  // namespace halfstep::formats::onnx
