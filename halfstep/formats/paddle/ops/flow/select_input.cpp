// Selects a value of a list by a mask. The other values may be undefined. If only a run determines the mask, the two
// values must come from two conditional blocks with a condition and its opposite, which become the regions of one `if`.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

void select(Translator& translator, const Node& node, const Slot& list, const std::vector<int64_t>& mask) {
  const auto branches = static_cast<int64_t>(list.values.size());
  if (mask.size() != 1 || mask[0] < 0 || mask[0] >= branches)
    fail(errors::mask_out_of_range(node.where(), to_string(mask), branches));
  translator.set(node, {"Out", 0}, translator.lookup(list.values[static_cast<size_t>(mask[0])], node.where()));
}

Op maker_of(Value value) { return value ? value.producer() : Op(); }

/// Returns the condition from which a mask of 0 and 1 was made.
Value condition_of(Value mask) {
  const Op maker = maker_of(mask);
  return maker.is<ops::Cast, ops::Reshape>() ? condition_of(maker.in(0)) : mask;
}

/// Whether the condition of `other` is the opposite of `condition`.
bool is_opposite(const Translator::Conditional& other, Value condition) {
  const Op maker = maker_of(condition_of(other.condition.value));
  return maker.is<ops::LogicalNot>() && condition_of(maker.in(0)) == condition;
}

void make_branches(Translator& translator, const Node& node, const Slot& list) {
  const auto refuse = [&](const std::string& found) { fail(errors::selection_not_supported(node.where(), found)); };
  if (list.values.size() != 2) refuse(fmt::format("{} values", list.values.size()));
  const auto otherwise = translator.postponed(list.values[0]), then = translator.postponed(list.values[1]);
  if (!otherwise || !then) refuse(fmt::format("'{}', which no conditional block computes", list.values[then ? 0 : 1]));
  const Value condition = condition_of(translator.require(node, {"Mask", 1}).value);
  const auto place = [](const Translator::Conditional& block, const std::string& value) {
    return std::ranges::find(block.outputs, value) - block.outputs.begin();
  };
  const auto output = place(*then, list.values[1]);
  const bool fits = condition && condition_of(then->condition.value) == condition &&
                    is_opposite(*otherwise, condition) && then->outputs.size() == otherwise->outputs.size() &&
                    place(*otherwise, list.values[0]) == output;
  if (!fits) refuse("conditional blocks whose conditions or outputs do not match");
  std::vector<Operand>& results = then->joined[otherwise.get()];
  if (results.empty()) {
    std::vector<FillRegion> fill;
    for (const auto& block : {then, otherwise})
      fill.emplace_back([&translator, block](const auto&) {
        return translator.run_apart(block->node, 0, block->given, block->outputs);
      });
    const Operand scalar = translator.reshaped(node, then->condition, {});
    results = translator.make_branches(then->node, scalar, fill);
  }
  translator.set(node, {"Out", 0}, results.at(static_cast<size_t>(output)));
}

}  // namespace

void translate_select_input(Translator& translator, const Node& node) {
  const Slot* list = node.input({"X", 0});
  if (list == nullptr) fail(errors::part_missing(node.where(), "input X"));
  const auto is_postponed = [&](const std::string& value) { return translator.postponed(value) != nullptr; };
  if (std::ranges::any_of(list->values, is_postponed)) return make_branches(translator, node, *list);
  select(translator, node, *list, translator.integers(node, translator.require(node, {"Mask", 1})));
}

}  // namespace halfstep::formats::paddle
