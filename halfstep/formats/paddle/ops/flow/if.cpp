// Inlines the region of the taken branch if the condition is known. Otherwise both branches become regions. If that is
// not possible, inlines the branch that the given inputs select.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

void give(Translator& translator, const Node& node, const std::vector<Operand>& results) {
  if (results.size() != node.outputs().size())
    fail(errors::wrong_count(node.where(), "results of a branch", results.size(), node.outputs().size()));
  for (size_t i = 0; i < results.size(); ++i) translator.set(node, {"Out", i}, results[i]);
}

void take_branch(Translator& translator, const Node& node, bool with_inputs) {
  const bool condition = translator.decision(node, translator.require(node, {"Cond", 0}), with_inputs) != 0;
  give(translator, node, translator.run_block(node, condition ? 0 : 1, {}));
}

void make_if_branches(Translator& translator, const Node& node) {
  std::vector<FillRegion> fill;
  for (const size_t branch : {0, 1})
    fill.emplace_back([&, branch](const auto& values) { return translator.run_block(node, branch, values); });
  const Operand condition = translator.reshaped(node, translator.require(node, {"Cond", 0}), {});
  give(translator, node, translator.make_branches(node, condition, fill));
}

}  // namespace

void translate_if(Translator& translator, const Node& node) {
  const Block& then = translator.block(node, 0);
  if (translator.tried_inside(&then, [&] { take_branch(translator, node, false); })) return;
  translator.regions_or([&] { make_if_branches(translator, node); }, [&] { take_branch(translator, node, true); });
}

}  // namespace halfstep::formats::paddle
