#include "halfstep/passes/canonical/within_reach.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/code_forms.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

/// Assumed row length if it is unknown before the network runs.
constexpr int64_t kRow = 1024;

/// Returns the longest row of the softmaxes that read `value`, or nothing if anything else reads it.
std::optional<int64_t> row_of(Value value) {
  std::optional<int64_t> longest;
  if (value.producer() && is_output(value)) return std::nullopt;
  for (const auto& [user, operand] : value.uses()) {
    if (has_trait(user, Trait::observer)) continue;
    std::optional<int64_t> row;
    if (user.is<ops::Softmax>()) {
      const ops::Softmax softmax(user.node());
      const auto rank = static_cast<int64_t>(value.dims().size());
      if (softmax.axis() == -1 || softmax.axis() == rank - 1)
        row = value.dims().back() == kUnknown ? kRow : value.dims().back();
    } else if (moves_codes(user) && user.results().size() == 1 && activation_inputs(user).size() == 1 &&
               activation_inputs(user)[0] == value) {
      row = row_of(user.out(0));
    }
    if (!row) return std::nullopt;
    longest = std::max(longest.value_or(1), *row);
  }
  return longest;
}

/// Inserts operators before observers.
class Raising {
 public:
  explicit Raising(Model& model) : model_(model) {}

  void run(const ops::ObserveRange& observer) {
    const Value reach = number(observer.name() + ".reach", static_cast<float>(observer.reach()));
    const std::vector<Value> operands = observer.operands();
    for (size_t i = operands.size() - observer.x().size(); i < operands.size(); ++i) {
      if (operands[i].dims().empty()) continue;
      const bool ends = observer.method() == "minmax" && observer.axis() == -1;
      observer.set_operand(static_cast<int>(i), raised(observer, operands[i], reach, ends));
    }
  }

 private:
  Value number(const std::string& name, float value) {
    return add_tensor(model_, name, Tensor::scalar(value), Role::constant);
  }

  /// Ignores a row that a mask hides as a whole. `ends` keeps only the smallest and the largest element of each row,
  /// which suffice for a range.
  Value raised(Op before, Value x, Value reach, bool ends) {
    Builder builder = Builder::before(model_.graph, before);
    const std::string& name = x.name();
    const Value top = ops::reduce_max(builder, {.x = x, .axes = {-1}, .keep_dims = true, .name = name + ".top"}).out();
    const Value end = ops::sub(builder, {.a = top, .b = reach, .name = name + ".end"}).out();
    if (!zero_) {
      zero_ = number("nothing", 0.0F);
      hidden_ = number("hidden", kMasking / 2);
    }
    const Value hides = ops::less_or_equal(builder, {.a = top, .b = hidden_, .name = name + ".hides"}).out();
    const Value lowest =
        ops::mask_fill(builder, {.x = end, .condition = hides, .value = zero_, .name = name + ".lowest"}).out();
    if (!ends) return ops::max_of(builder, {.x = {x, lowest}, .name = name + ".seen"}).out();
    const Value low =
        ops::reduce_min(builder, {.x = x, .axes = {-1}, .keep_dims = true, .name = name + ".bottom"}).out();
    const Value both = ops::concat(builder, {.x = {low, top}, .axis = -1, .name = name + ".ends"}).out();
    return ops::max_of(builder, {.x = {both, lowest}, .name = name + ".seen"}).out();
  }

  Model& model_;
  Value zero_, hidden_;
};

}  // namespace

bool hides(double number, Value value) {
  return number <= kHidden || (number <= kMasking && row_of(value).has_value());
}

double reach_of(Value value, int bits) {
  const auto row = row_of(value);
  return row ? std::log(std::ldexp(static_cast<double>(std::max<int64_t>(*row, 1)), bits + 1)) : 0;
}

void within_reach(Model& model) {
  Raising raising(model);
  for (const ops::ObserveRange& observer : model.graph.all<ops::ObserveRange>()) {
    if (observer.reach() == 0) continue;
    if (!observer.is_test()) raising.run(observer);
    Attributes attributes = observer.attributes();
    attributes["reach"] = 0.0;
    observer.set_attributes(attributes);
  }
}

}  // namespace halfstep::passes
