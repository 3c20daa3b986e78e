// Its iterations, one after the other, in its place: the conditions are computed. A ProgramDesc carries variables, PIR
// values.
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

/// The block gives the next condition and values.
void run_on_values(Translator& translator, const Node& node) {
  Operand condition = translator.require(node, {"", 0});
  std::vector<Operand> values;
  for (size_t i = 1; i < node.inputs().size(); ++i) values.push_back(translator.require(node, {"", i}));
  for (int64_t i = 0; translator.is_true(node, condition); count(node, i)) {
    std::vector<Operand> results = translator.run_block(node, 0, values);
    if (results.size() != values.size() + 1)
      fail("{}: its block gives {} values, expected {}", node.where(), results.size(), values.size() + 1);
    condition = results[0];
    values.assign(results.begin() + 1, results.end());
  }
  for (size_t i = 0; i < values.size(); ++i) translator.set(node, {"", i}, values[i]);
}

}  // namespace

void translate_while(Translator& translator, const Node& node) {
  try {
    if (translator.block(node, 0).results)
      run_on_values(translator, node);
    else
      run_on_variables(translator, node);
  } catch (const NeedsValues& error) {
    if (!translator.surveys()) throw;
    translator.look_inside(node, error);
  }
}

}  // namespace halfstep::formats::paddle
