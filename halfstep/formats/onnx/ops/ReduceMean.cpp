// Translates by the record. With noop_with_empty_axes and no axes the input is returned.
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_ReduceMean(Translator& translator, const Node& node) { translate_reduction(translator, node); }

}  // namespace halfstep::formats::onnx
