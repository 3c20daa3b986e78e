// The smaller of two numbers; the axes of the second tensor stand at `axis` of the first.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_elementwise_min(Translator& translator, const Node& node) { translate_elementwise(translator, node); }

}  // namespace halfstep::formats::paddle
