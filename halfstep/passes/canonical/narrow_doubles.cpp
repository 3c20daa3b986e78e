#include "halfstep/passes/canonical/narrow_doubles.h"

#include <algorithm>
#include <map>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

bool is_cast(Op op, DType from, DType to) {
  return op.is<ops::Cast>() && op.in(0).dtype() == from && op.out(0).dtype() == to;
}

class NarrowDoubles {
 public:
  explicit NarrowDoubles(Model& model) : model_(model) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (!is_cast(op, DType::f64, DType::f32) || is_counted(op.in(0)) || !can_narrow(op.in(0))) continue;
      before_ = op;
      const Value wide = op.in(0);
      replace(model_.graph, op, narrowed(wide).producer());
      erase_unread(model_.graph, wide);
      counted_.clear();  // it has values that no longer exist
      narrowed_.clear();
    }
  }

 private:
  /// Whether the value depends on nothing but extents and stored numbers.
  bool is_counted(Value value) {
    if (value.is_tensor()) return true;
    const Op op = value.producer();
    if (!op || op.info().flow != Flow::none) return false;
    const auto [found, is_new] = counted_.try_emplace(value.node(), true);
    if (is_new && !op.is<ops::Positions>()) {
      const std::vector<Value> operands = op.operands();
      const bool all = std::ranges::all_of(operands, [&](Value operand) { return !operand || is_counted(operand); });
      counted_[value.node()] = all;
    }
    return counted_[value.node()];
  }

  bool can_narrow(Value value) {
    if (value.dtype() != DType::f64) return false;
    if (is_counted(value)) return true;
    const Op op = value.producer();
    if (!op) return false;
    if (is_cast(op, DType::f32, DType::f64)) return true;
    if (!op.is<ops::Add, ops::Sub, ops::Mul>() && !moves_codes(op)) return false;
    const std::vector<Value> inputs = activation_inputs(op);
    return op.results().size() == 1 && std::ranges::all_of(inputs, [&](Value input) { return can_narrow(input); });
  }

  Value narrowed(Value value) {
    if (const auto found = narrowed_.find(value.node()); found != narrowed_.end()) return found->second;
    return narrowed_[value.node()] = made(value);
  }

  Value made(Value value) {
    if (is_counted(value)) return insert(ops::Cast::record(), {value}, {{"to", std::string("f32")}});
    const Op op = value.producer();
    if (op.is<ops::Cast>()) return op.in(0);
    std::vector<Value> operands = op.operands();
    for (Value& operand : operands) {
      if (operand && operand.dtype() == DType::f64) operand = narrowed(operand);
    }
    return insert(op.info(), std::move(operands), op.attributes());
  }

  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
    return insert_before(model_.graph, before_, info, std::move(operands), std::move(attributes)).out(0);
  }

  Model& model_;
  Op before_;
  std::map<const detail::ValueNode*, bool> counted_;
  std::map<const detail::ValueNode*, Value> narrowed_;
};

}  // namespace

void narrow_doubles(Model& model) { NarrowDoubles(model).run(); }

}  // namespace halfstep::passes
