// The largest element over axes; without any over all.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_max(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_max"); }

}  // namespace halfstep::formats::paddle
