// Product of two tensors; the axes of the second stand at `axis` of the first.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_elementwise_mul(Translator& translator, const Node& node) { translate_elementwise(translator, node); }

}  // namespace halfstep::formats::paddle
