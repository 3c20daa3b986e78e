// The mean over axes; without any over all.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_mean(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_mean"); }

}  // namespace halfstep::formats::paddle
