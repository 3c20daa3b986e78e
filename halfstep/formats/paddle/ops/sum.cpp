// The sum over axes; without any over all.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_sum(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_sum"); }

}  // namespace halfstep::formats::paddle
