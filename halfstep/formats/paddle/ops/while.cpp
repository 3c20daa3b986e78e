// Its iterations, one after the other, in its place, where the conditions are known; else a `while` of ours. A
// ProgramDesc carries variables, PIR values.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

constexpr int64_t kMaxIterations = 1'000'000;

void count(const Node& node, int64_t& iterations) {
  if (++iterations > kMaxIterations)
    Translator::refuse(node, fmt::format("more than {} iterations are not supported", kMaxIterations));
}

/// The block assigns to variables of the blocks around it, that of the condition among them.
void run_on_variables(Translator& translator, const Node& node) {
  node.input({"X", 1});  // the block knows them by name
  for (int64_t i = 0; translator.is_true(node, translator.require(node, {"Condition", 0})); count(node, i))
    translator.run_block(node, 0, {});
}

std::vector<Operand> carried(Translator& translator, const Node& node) {
  std::vector<Operand> values;
  for (size_t i = 1; i < node.inputs().size(); ++i) values.push_back(translator.require(node, {"", i}));
  return values;
}

/// The condition that an iteration gives, as a scalar, and the values behind it.
std::vector<Operand> iteration(Translator& translator, const Node& node, const std::vector<Operand>& values) {
  std::vector<Operand> results = translator.run_block(node, 0, values);
  if (results.size() != values.size() + 1)
    fail("{}: its block gives {} values, expected {}", node.where(), results.size(), values.size() + 1);
  results[0] = translator.reshaped(node, results[0], {});
  return results;
}

/// The block gives the next condition and values.
void run_on_values(Translator& translator, const Node& node, bool with_inputs) {
  Operand condition = translator.require(node, {"", 0});
  std::vector<Operand> values = carried(translator, node);
  for (int64_t i = 0; translator.decision(node, condition, with_inputs) != 0; count(node, i)) {
    const std::vector<Operand> results = iteration(translator, node, values);
    condition = results[0];
    values.assign(results.begin() + 1, results.end());
  }
  for (size_t i = 0; i < values.size(); ++i) translator.set(node, {"", i}, values[i]);
}

void make_while(Translator& translator, const Node& node) {
  std::vector<Operand> operands = carried(translator, node);
  std::vector<Type> types;
  for (const Operand& value : operands) types.push_back(value.type());
  const auto count = static_cast<int64_t>(operands.size());
  operands.insert(operands.begin(), translator.reshaped(node, translator.require(node, {"", 0}), {}));
  const auto fill = [&](const auto& values) { return iteration(translator, node, values); };
  const auto results = translator.make_flow(node, "while", operands, {{"states", count}}, types, {fill});
  for (size_t i = 0; i < results.size(); ++i) translator.set(node, {"", i}, results[i]);
}

void translate_on_values(Translator& translator, const Node& node) {
  if (translator.tried([&] { run_on_values(translator, node, false); })) return;
  if (!translator.has_values()) return make_while(translator, node);
  if (!translator.tried([&] { make_while(translator, node); })) run_on_values(translator, node, true);
}

}  // namespace

void translate_while(Translator& translator, const Node& node) {
  const bool has_values = translator.block(node, 0).results.has_value();
  if (has_values) return translate_on_values(translator, node);
  try {
    run_on_variables(translator, node);
  } catch (const NeedsValues& error) {
    if (!translator.surveys()) throw;
    translator.look_inside(node, error);
  }
}

}  // namespace halfstep::formats::paddle
