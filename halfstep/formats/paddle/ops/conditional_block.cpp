// The operators of its block in its place, where the condition holds; else the variables that they give have no value.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_conditional_block(Translator& translator, const Node& node) {
  node.input({"Input", 1});  // the block knows them by name
  try {
    if (translator.is_true(node, translator.require(node, {"Cond", 0}))) translator.run_block(node, 0, {});
  } catch (const NeedsValues& error) {
    if (!translator.surveys()) throw;
    translator.look_inside(node, error);
  }
}

}  // namespace halfstep::formats::paddle
