// The smallest element over axes; without any over all.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_min(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_min"); }

}  // namespace halfstep::formats::paddle
