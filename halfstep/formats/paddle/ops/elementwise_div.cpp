// Quotient of two tensors. The axes of the second match those of the first from `axis` on.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_elementwise_div(Translator& translator, const Node& node) { translate_elementwise(translator, node); }

}  // namespace halfstep::formats::paddle
