#include "halfstep/passes/graph/stored_numbers.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/arith/scalar_functions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

struct Arithmetic {
  const OpInfo* op;
  double (*result)(double a, double b);
};

const Arithmetic* arithmetic(Op op) {
  static const Arithmetic kAll[] = {
      {&ops::Add::record(), [](double a, double b) { return a + b; }},
      {&ops::Sub::record(), [](double a, double b) { return a - b; }},
      {&ops::Mul::record(), [](double a, double b) { return a * b; }},
      {&ops::Div::record(), [](double a, double b) { return a / b; }},
      {&ops::Power::record(), [](double a, double b) { return std::pow(a, b); }},
  };
  const auto* const found = std::ranges::find(kAll, &op.info(), &Arithmetic::op);
  return found == std::end(kAll) ? nullptr : found;
}

/// Whether the operation keeps all elements and their order.
bool keeps_order(Op op) { return op.is<ops::Reshape, ops::Flatten, ops::Squeeze, ops::Unsqueeze>(); }

/// Does not look at the numbers, which may be many. Follows arithmetic at most `steps` deep, so that a chain of sums is
/// not walked from each of its values.
bool is_stored(Value value, int steps = 16) {
  if (!value || value.dtype() != DType::f32 || !value.type().is_static()) return false;
  if (value.is_tensor()) return !updater_of(value);
  const Op op = value.producer();
  if (!op || steps == 0) return false;
  const bool is_known = keeps_order(op) || arithmetic(op) != nullptr || arith::find_function(op.info().name) != nullptr;
  return is_known && std::ranges::all_of(op.operands(), [&](Value part) { return is_stored(part, steps - 1); });
}

std::optional<std::vector<double>> combined(const Arithmetic& rule, const std::vector<double>& a,
                                            const std::vector<double>& b, int64_t count) {
  const auto fits = [&](const std::vector<double>& operand) {
    return operand.size() == 1 || operand.size() == static_cast<size_t>(count);
  };
  if (!fits(a) || !fits(b)) return std::nullopt;
  std::vector<double> results(static_cast<size_t>(count));
  for (size_t i = 0; i < results.size(); ++i)
    results[i] = rule.result(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  return results;
}

std::optional<std::vector<double>> numbers_of(const Model& model, Value value) {
  if (value.is_tensor()) {
    const auto contents = std::as_const(model.tensors.at(value.name())).data<float>();
    return std::vector<double>(contents.begin(), contents.end());
  }
  const Op op = value.producer();
  auto numbers = numbers_of(model, op.in(0));
  if (!numbers || keeps_order(op)) return numbers;
  if (const Arithmetic* rule = arithmetic(op)) {
    const auto others = numbers_of(model, op.in(1));
    return others ? combined(*rule, *numbers, *others, count_elements(value.dims())) : std::nullopt;
  }
  const arith::PointwiseFunction* function = arith::find_function(op.info().name);
  for (double& number : *numbers) number = function->value(number, op.attributes());
  return numbers;
}

}  // namespace

std::optional<StoredNumbers> stored_numbers(const Model& model, Value value) {
  if (!is_stored(value)) return std::nullopt;
  auto numbers = numbers_of(model, value);
  if (!numbers) return std::nullopt;
  return StoredNumbers{value.dims(), std::move(*numbers)};
}

void erase_unread(Model& model, Value value) {
  if (!value || !value.unused()) return;
  if (value.is_tensor()) {
    if (model.graph.tensor(value.name()) == value) erase_tensor(model, value);
    return;
  }
  const Op op = value.producer();
  if (!op || op.results().size() != 1) return;
  const std::vector<Value> read = op.operands();
  model.graph.erase(op);
  for (const Value operand : read) erase_unread(model, operand);
}

}  // namespace halfstep::passes
