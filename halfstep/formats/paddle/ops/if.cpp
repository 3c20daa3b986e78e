// The region of the branch that is taken, in its place.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_if(Translator& translator, const Node& node) {
  try {
    const bool condition = translator.is_true(node, translator.require(node, {"Cond", 0}));
    const std::vector<Operand> results = translator.run_block(node, condition ? 0 : 1, {});
    if (results.size() != node.outputs().size())
      fail("{}: the branch gives {} values, expected {}", node.where(), results.size(), node.outputs().size());
    for (size_t i = 0; i < results.size(); ++i) translator.set(node, {"Out", i}, results[i]);
  } catch (const NeedsValues& error) {
    if (!translator.surveys()) throw;
    translator.look_inside(node, error);
  }
}

}  // namespace halfstep::formats::paddle
