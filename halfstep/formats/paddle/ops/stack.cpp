// Joins values of equal extents along a new axis.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_stack(Translator& translator, const Node& node) {
  std::vector<Operand> list = translator.in_list(node, {"X", 0});
  if (list.empty()) fail(errors::part_missing(node.where(), "the list of values"));
  const auto rank = static_cast<int64_t>(list[0].dims().size()) + 1;
  const int64_t given = node.integer("axis", 0), axis = given + (given < 0 ? rank : 0);
  for (Operand& operand : list)
    operand = translator.make_one(node, "unsqueeze", {operand}, {{"axes", std::vector<int64_t>{axis}}});
  const Operand result = list.size() == 1 ? list[0] : translator.make_one(node, "concat", list, {{"axis", axis}});
  translator.set(node, {node.numbers_slots() ? "Out" : "Y", 0}, result);
}

}  // namespace halfstep::formats::paddle
