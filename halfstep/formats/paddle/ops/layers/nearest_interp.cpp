// Nearest-neighbor interpolation of x to another height and width.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_nearest_interp(Translator& translator, const Node& node) { translate_resize(translator, node); }

}  // namespace halfstep::formats::paddle
