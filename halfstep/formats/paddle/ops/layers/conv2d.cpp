// A convolution. padding_algorithm becomes padding.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_conv2d(Translator& translator, const Node& node) { translate_convolution(translator, node); }

}  // namespace halfstep::formats::paddle
