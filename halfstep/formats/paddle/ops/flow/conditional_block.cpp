// Inlines the operators of its block if the condition holds, otherwise its variables keep their values. If only a run
// determines the condition, both cases are regions of an `if`. Variables without a previous value then wait for the
// select_input that provides their other value.
#include <algorithm>

#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

void take_or_leave(Translator& translator, const Node& node, bool with_inputs) {
  const Operand condition = translator.require(node, {"Cond", 0});
  if (translator.decision(node, condition, with_inputs) != 0) translator.run_block(node, 0, {});
}

/// Whether the condition is known.
bool decided(Translator& translator, const Node& node) {
  return translator.tried([&] { translator.decision(node, translator.require(node, {"Cond", 0}), false); });
}

void make_branches(Translator& translator, const Node& node) {
  const Slot* outputs = node.output({"Out", 0});
  if (outputs == nullptr || outputs->values.empty()) return;
  const Operand condition = translator.reshaped(node, translator.require(node, {"Cond", 0}), {});
  std::map<std::string, Operand> given = translator.values_of(node.input({"Input", 1}));
  const std::map<std::string, Operand> former = translator.values_of(outputs);
  if (former.size() < outputs->values.size())
    return translator.postpone({node, translator.require(node, {"Cond", 0}), given, outputs->values});
  given.insert(former.begin(), former.end());
  const std::vector<FillRegion> fill = {
      [&](const auto&) { return translator.run_apart(node, 0, given, outputs->values); },
      [&](const auto&) {
        std::vector<Operand> kept;
        for (const std::string& value : outputs->values) kept.push_back(former.at(value));
        return kept;
      }};
  translator.set_list(node, {"Out", 0}, translator.make_branches(node, condition, fill));
}

}  // namespace

void translate_conditional_block(Translator& translator, const Node& node) {
  node.input({"Input", 1});  // the block refers to them by name
  try {
    if (decided(translator, node)) return take_or_leave(translator, node, false);
    translator.regions_or([&] { make_branches(translator, node); }, [&] { take_or_leave(translator, node, true); });
  } catch (const Error& error) {
    if (!translator.surveys() || !needs_values(error)) throw;
    translator.look_inside(node, error);
  }
}

}  // namespace halfstep::formats::paddle
