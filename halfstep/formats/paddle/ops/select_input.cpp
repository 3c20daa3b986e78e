// The value of a list that a mask says, which must be known; the others may have none.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_select_input(Translator& translator, const Node& node) {
  const std::vector<int64_t> mask = translator.integers(node, translator.require(node, {"Mask", 1}));
  const Slot* list = node.input({"X", 0});
  const auto branches = static_cast<int64_t>(list == nullptr ? 0 : list->values.size());
  if (mask.size() != 1 || mask[0] < 0 || mask[0] >= branches)
    fail("{}: found the mask {} of {} values", node.where(), to_string(mask), branches);
  translator.set(node, {"Out", 0}, translator.lookup(list->values[static_cast<size_t>(mask[0])], node.where()));
}

}  // namespace halfstep::formats::paddle
