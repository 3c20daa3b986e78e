// Translates by the record. A zero point of one element takes the extents of the scale, which may be [] or [1].
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_DequantizeLinear(Translator& translator, const Node& node) { translate_affine(translator, node); }

}  // namespace halfstep::formats::onnx
