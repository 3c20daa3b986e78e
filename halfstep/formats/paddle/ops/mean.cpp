// The mean over axes, or over all axes if none are given.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_mean(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_mean"); }

}  // namespace halfstep::formats::paddle
