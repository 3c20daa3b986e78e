// The product over axes; without any over all.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_prod(Translator& translator, const Node& node) { translate_reduction(translator, node, "reduce_prod"); }

}  // namespace halfstep::formats::paddle
