// Unrolls all iterations if the conditions are known, otherwise becomes a `while`. It carries variables in a
// ProgramDesc, and values in PIR.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

constexpr int64_t kMaxIterations = 1'000'000;

void count(const Node& node, int64_t& iterations) {
  if (++iterations > kMaxIterations) fail(errors::too_many_iterations(node.where(), kMaxIterations));
}

/// The block assigns to variables of enclosing blocks, including the condition.
void run_on_variables(Translator& translator, const Node& node, bool with_inputs) {
  const auto goes_on = [&] {
    return translator.decision(node, translator.require(node, {"Condition", 0}), with_inputs) != 0;
  };
  for (int64_t i = 0; goes_on(); count(node, i)) translator.run_block(node, 0, {});
}

/// Variables with a value before the loop that the block assigns to.
struct Variables {
  std::string condition;
  std::vector<std::string> states;
  std::map<std::string, Operand> given;  ///< values for the first iteration
};

Variables variables_of(Translator& translator, const Node& node) {
  const Slot* condition = node.input({"Condition", 0});
  const Slot* outputs = node.output({"Out", 0});
  if (condition == nullptr || condition->values.size() != 1)
    fail(errors::part_missing(node.where(), "input Condition"));
  Variables variables{condition->values[0], {}, translator.values_of(node.input({"X", 1}))};
  const std::map<std::string, Operand> former = translator.values_of(outputs);
  for (const auto& [name, operand] : former) {
    if (name != variables.condition) variables.states.push_back(name);
  }
  variables.given.insert(former.begin(), former.end());
  return variables;
}

void make_while_of_variables(Translator& translator, const Node& node) {
  const Variables variables = variables_of(translator, node);
  const Operand condition = translator.require(node, {"Condition", 0});
  LoopSpec loop{"while", {translator.reshaped(node, condition, {})}, {}, {}};
  for (const std::string& state : variables.states) loop.states.push_back(variables.given.at(state));
  const auto fill = [&](const std::vector<Operand>& values) {
    std::map<std::string, Operand> given = variables.given;
    std::vector<std::string> wanted = {variables.condition};
    given[variables.condition] = Translator::known(filled(DType::boolean, condition.dims(), 1));
    for (size_t i = 0; i < values.size(); ++i) given[variables.states[i]] = values[i];
    wanted.insert(wanted.end(), variables.states.begin(), variables.states.end());
    std::vector<Operand> made = translator.run_apart(node, 0, given, wanted);
    made[0] = translator.reshaped(node, made[0], {});
    return made;
  };
  const auto results = translator.make_loop(node, loop, &translator.block(node, 0), fill);
  std::map<std::string, Operand> last;
  for (size_t i = 0; i < variables.states.size(); ++i) last[variables.states[i]] = results[i];
  last[variables.condition] = Translator::known(filled(DType::boolean, condition.dims(), 0));
  std::vector<Operand> outputs;
  if (const Slot* slot = node.output({"Out", 0})) {
    for (const std::string& name : slot->values) outputs.push_back(last[name]);
  }
  translator.set_list(node, {"Out", 0}, outputs);
}

void translate_on_variables(Translator& translator, const Node& node) {
  const Block& body = translator.block(node, 0);
  if (translator.tried_on_variables(&body, [&] { run_on_variables(translator, node, false); })) return;
  translator.regions_or([&] { make_while_of_variables(translator, node); },
                        [&] { run_on_variables(translator, node, true); });
}

std::vector<Operand> carried(Translator& translator, const Node& node) {
  std::vector<Operand> values;
  for (size_t i = 1; i < node.inputs().size(); ++i) values.push_back(translator.require(node, {"", i}));
  return values;
}

/// Returns the condition of an iteration as a scalar, then its values.
std::vector<Operand> iteration(Translator& translator, const Node& node, const std::vector<Operand>& values) {
  std::vector<Operand> results = translator.run_block(node, 0, values);
  if (results.size() != values.size() + 1)
    fail(errors::wrong_count(node.where(), "results of its block", results.size(), values.size() + 1));
  results[0] = translator.reshaped(node, results[0], {});
  return results;
}

/// The block returns the next condition and values.
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
  const Operand condition = translator.reshaped(node, translator.require(node, {"", 0}), {});
  const LoopSpec loop{"while", {condition}, carried(translator, node), {}};
  const auto fill = [&](const auto& values) { return iteration(translator, node, values); };
  const auto results = translator.make_loop(node, loop, &translator.block(node, 0), fill);
  for (size_t i = 0; i < results.size(); ++i) translator.set(node, {"", i}, results[i]);
}

void translate_on_values(Translator& translator, const Node& node) {
  const Block& body = translator.block(node, 0);
  if (translator.tried_inside(&body, [&] { run_on_values(translator, node, false); })) return;
  translator.regions_or([&] { make_while(translator, node); }, [&] { run_on_values(translator, node, true); });
}

}  // namespace

void translate_while(Translator& translator, const Node& node) {
  const bool has_values = translator.block(node, 0).results.has_value();
  if (has_values) return translate_on_values(translator, node);
  node.input({"X", 1});  // the block refers to them by name
  try {
    translate_on_variables(translator, node);
  } catch (const Error& error) {
    if (!translator.surveys() || !needs_values(error)) throw;
    translator.look_inside(node, error);
  }
}

}  // namespace halfstep::formats::paddle
