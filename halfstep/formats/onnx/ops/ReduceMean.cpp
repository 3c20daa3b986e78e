// By the record, but for noop_with_empty_axes: then no axes mean that nothing is done.
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_ReduceMean(Translator& translator, const Node& node) { translate_reduction(translator, node); }

}  // namespace halfstep::formats::onnx
