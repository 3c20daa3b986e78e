#include "halfstep/passes/canonical/layers/power_forms.h"

#include <cmath>
#include <optional>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/stored_numbers.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

class PowerForms {
 public:
  explicit PowerForms(Model& model) : model_(model), indices_(model.graph) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (!op.is<ops::Power, ops::Div, ops::Reciprocal>() || op.out(0).dtype() != DType::f32 || indices_.contains(op))
        continue;
      old_ = op;
      const Value made = op.is<ops::Power>() ? power(op.in(0), op.in(1))
                         : op.is<ops::Div>() ? quotient(op.in(0), op.in(1))
                                             : inverse_root(op.in(0), 1);
      if (made) replace_by(made.producer());
    }
  }

 private:
  Value power(Value x, Value exponent) {
    const auto base = number(x), stored = number(exponent);
    if (stored && !x.is_tensor()) return raised(x, *stored);
    if (!base || !(*base > 0) || exponent.is_tensor() || exponent.dtype() != DType::f32) return {};
    const Tensor factor = Tensor::scalar(static_cast<float>(std::log(*base)));
    const Value log = add_tensor(model_, x.name() + ".log", factor, Role::constant);
    return insert(ops::Exp::record(), {insert(ops::Mul::record(), {exponent, log})});
  }

  Value raised(Value x, double exponent) {
    if (exponent == 2) return insert(ops::Mul::record(), {x, x});
    if (exponent == 0.5) return insert(ops::Sqrt::record(), {x});
    if (exponent == -1) return inverse(x, 1);
    return std::isfinite(exponent) ? affine_power(x, exponent, 1) : Value();
  }

  Value quotient(Value a, Value b) {
    const auto dividend = number(a);
    if (b.is_tensor() || (a.is_tensor() && !is_stored_f32(a))) return {};
    if (dividend && *dividend > 0) return inverse(b, *dividend);
    return insert(ops::Mul::record(), {a, inverse(b, 1)});
  }

  /// dividend / x.
  Value inverse(Value x, double dividend) {
    if (const Value root = inverse_root(x, dividend)) return root;
    return dividend == 1 ? insert(ops::Reciprocal::record(), {x}) : affine_power(x, -1, 1 / dividend);
  }

  /// dividend / root, if only the operator that is rewritten reads the root. Else nothing.
  Value inverse_root(Value root, double dividend) {
    const Op sqrt = root.producer();
    if (!sqrt.is<ops::Sqrt>() || only_reader(root) != old_) return {};
    return affine_power(sqrt.in(0), -0.5, 1 / (dividend * dividend));
  }

  Value affine_power(Value x, double exponent, double factor) {
    return insert(ops::AffinePower::record(), {x}, {{"alpha", exponent}, {"gamma", factor}});
  }

  std::optional<double> number(Value value) const {
    const bool is_number = value.is_tensor() && !updater_of(value) && value.role() == Role::constant &&
                           value.dtype() != DType::boolean && count_elements(value.dims()) == 1;
    return is_number ? std::optional(element(model_.tensors.at(value.name()), 0)) : std::nullopt;
  }

  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    return insert_before(model_.graph, old_, info, std::move(operands), std::move(attributes)).out(0);
  }

  /// Keeps the old operator if a stored number has more axes than the other operand.
  void replace_by(Op made) {
    std::vector<Value> unread = old_.operands();
    if (made.out(0).type() == old_.out(0).type()) {
      replace(model_.graph, old_, made);
    } else {
      unread = {made.out(0)};
    }
    for (const Value value : unread) erase_unread(model_, value);
  }

  Model& model_;
  const IndexArithmetic indices_;
  Op old_;  ///< operator that is rewritten
};

}  // namespace

void power_forms(Model& model) { PowerForms(model).run(); }

}  // namespace halfstep::passes
