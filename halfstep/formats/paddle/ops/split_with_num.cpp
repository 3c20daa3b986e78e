// Splits along one axis into equal slices.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_split_with_num(Translator& translator, const Node& node) {
  const auto axis = integer(translator.number(node, "axis", 1, 0));
  translate_split(translator, node, axis, {}, node.integer("num", 0));
}

}  // namespace halfstep::formats::paddle
