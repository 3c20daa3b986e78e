// Translates by the record, without kernel_shape, which only repeats the extents of the weights.
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_ConvTranspose(Translator& translator, const Node& node) { translate_convolution(translator, node, 1); }

}  // namespace halfstep::formats::onnx
