// The smallest element over axes, or over all axes if none are given.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_min(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_min"); }

}  // namespace halfstep::formats::paddle
