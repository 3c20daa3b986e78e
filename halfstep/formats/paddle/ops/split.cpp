// Splits along one axis into slices of given or equal extents.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_split(Translator& translator, const Node& node) {
  const auto axis = integer(translator.number(node, "axis", 2, 0));
  translate_split(translator, node, axis, translator.integers(node, "sections", 1), node.integer("num", 0));
}

}  // namespace halfstep::formats::paddle
