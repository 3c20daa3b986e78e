// Concatenates values along an axis.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_concat(Translator& translator, const Node& node) {
  const std::vector<Operand> list = translator.in_list(node, {"X", 0});
  if (list.empty()) fail(errors::part_missing(node.where(), "the list of values"));
  const auto axis = integer(translator.number(node, "axis", 1, 0));
  const Operand result = list.size() == 1 ? list[0] : translator.make_one(node, "concat", list, {{"axis", axis}});
  translator.set(node, {"Out", 0}, result);
}

}  // namespace halfstep::formats::paddle
