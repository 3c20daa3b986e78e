// The mean of each window: avg_pool2d if it supports the window, else average_pool. auto_pad becomes padding.
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_AveragePool(Translator& translator, const Node& node) {
  const bool counts = node.integer("count_include_pad", 0) != 0;
  translate_pool(translator, node, "avg_pool2d", "average_pool", {{"count_include_pad", counts}}, counts);
}

}  // namespace halfstep::formats::onnx
