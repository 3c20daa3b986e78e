#include "halfstep/passes/canonical/computed_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/code_forms.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"

namespace halfstep::passes {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

/// Possible elements of a mask. Each set contains the sets before it.
enum class MaskElements {
  hiding,  ///< 0, or a magnitude that hides elements, including multiples of a number that hides
  whole,   ///< integers
  any
};

class ComputedMasks {
 public:
  explicit ComputedMasks(Model& model) : model_(model), indices_(model.graph) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (!op.is<ops::Add, ops::Sub>() || op.out(0).dtype() != DType::f32 || reach_of(op.out(0), 1) == 0) continue;
      if (!rewrite(op, op.in(0), op.in(1)) && op.is<ops::Add>()) rewrite(op, op.in(1), op.in(0));
    }
  }

 private:
  /// Rewrites `add`, which is x + mask or x - mask.
  bool rewrite(Op add, Value x, Value mask) {
    if (!indices_.is_activation(x) || mask.is_tensor() || !may_hide(mask)) return false;
    if (add.is<ops::Add>() && is_selected(mask)) return false;
    if (indices_.is_activation(mask) && !is_made_of_inputs(mask)) return false;
    if (add.is<ops::Sub>()) mask = insert(add, ".negative", ops::Neg::record(), {mask});
    mask = with_log_last(mask);
    const Value hides = hidden(add, mask);
    if (kind_of(mask) == MaskElements::hiding && fill(add, x, hides)) return true;
    const Value sum = insert(add, ".sum", ops::Add::record(), {x, softened(add, mask, hides)});
    return fill(add, sum, hides);
  }

  /// Whether only arithmetic computes the mask from inputs, as for masks that are fed in float. Layers and sums over
  /// elements do not count as arithmetic.
  static bool is_made_of_inputs(Value value) {
    if (!value || value.is_tensor() || !value.producer()) return true;
    const Op op = value.producer();
    const bool is_arithmetic = op.info().elementwise || moves_codes(op) || op.is<ops::Cast>();
    return is_arithmetic && op.info().quant.weight < 0 && std::ranges::all_of(op.operands(), is_made_of_inputs);
  }

  /// Inserts an operation named ADD.WHAT before `add`.
  Value insert(Op add, const char* what, const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    return model_.graph
        .insert({&info, std::move(operands), std::move(attributes), add.name() + what, add.location()}, nullptr, add)
        .out(0);
  }

  Value number(Op add, const char* what, float value) {
    return add_tensor(model_, add.name() + what, Tensor::scalar(value), Role::constant);
  }

  /// A logarithm hides elements where its operand is 0. That 0 has a code, an infinity has none.
  Value hidden(Op add, Value mask) {
    const bool is_log = mask.producer().is<ops::Log>();
    const Value compared = is_log ? mask.producer().in(0) : mask;
    return insert(add, ".hides", ops::LessOrEqual::record(), {compared, number(add, ".hiding", is_log ? 0 : kMasking)});
  }

  /// Moves a logarithm behind the operator that moves its elements, under the same name.
  Value with_log_last(Value mask) {
    const Op move = mask.producer();
    const bool is_moved = moves_codes(move) && move.info().quant.fill < 0 && activation_inputs(move).size() == 1;
    if (!is_moved || move.results().size() != 1) return mask;
    const Op log = with_log_last(move.in(0)).producer();
    if (!log.is<ops::Log>()) return mask;
    std::vector<Value> operands = move.operands();
    operands[0] = log.in(0);
    const Value moved = insert(move, ".before", move.info(), std::move(operands), move.attributes());
    const Value last = insert(move, ".log", log.info(), {moved});
    const std::string name = move.name();
    mask.replace_all_uses_with(last);
    erase_unread(model_.graph, mask);
    model_.graph.rename(last.producer(), name);
    return last;
  }

  bool fill(Op add, Value x, Value hides) {
    const Value value = number(add, ".lowest", is_guarded(add) ? -std::numeric_limits<float>::infinity() : kLowest);
    const Op made = insert_before(model_.graph, add, ops::MaskFill::record(), {x, hides, value}, {{"inverse", false}});
    if (made.out(0).type() != add.out(0).type()) {
      model_.graph.erase(made);
      erase_tensor(model_, value);
      return false;
    }
    replace(model_.graph, add, made);
    return true;
  }

  /// Returns the mask with 0 where it hides elements.
  Value softened(Op add, Value mask, Value hides) {
    return insert(add, ".seen", ops::MaskFill::record(), {mask, hides, number(add, ".nothing", 0.0F)},
                  {{"inverse", false}});
  }

  /// Whether the mask selects between two numbers, perhaps moved. code_forms handles these.
  static bool is_selected(Value mask) {
    const Op op = unmoved(mask).producer();
    return op.is<ops::Select>() && op.in(1).is_tensor() && op.in(2).is_tensor();
  }

  /// Whether 0 replaces the NaN of rows that are hidden as a whole.
  static bool is_guarded(Op add) {
    for (const auto& [softmax, operand] : add.out(0).uses()) {
      if (!softmax.is<ops::Softmax>()) continue;
      if (std::ranges::any_of(softmax.out(0).uses(),
                              [](const auto& use) { return use.first.template is<ops::IsNan>(); }))
        return true;
    }
    return false;
  }

  std::span<const float> elements(Value tensor) const {
    return std::as_const(model_.tensors.at(tensor.name())).data<float>();
  }

  static bool is_large(float element) { return std::fabs(element) >= -kMasking; }

  bool may_hide(Value value) {
    if (!value || value.dtype() != DType::f32) return false;
    if (const auto known = may_hide_.find(value.node()); known != may_hide_.end()) return known->second;
    const Op op = value.producer();
    bool may = !op;
    if (value.is_tensor())
      may = std::ranges::any_of(elements(value), is_large);
    else if (op.is<ops::MaskFill>())
      may = may_hide(ops::MaskFill(op.node()).value());
    else if (op)
      may = op.is<ops::Log>() || std::ranges::any_of(op.operands(), [&](Value operand) { return may_hide(operand); });
    return may_hide_[value.node()] = may;
  }

  MaskElements kind_of(Value value) const {
    if (!value || !is_float(value.dtype())) return MaskElements::whole;
    if (value.is_tensor()) return kind_of_tensor(value);
    const Op op = value.producer();
    if (!op) return MaskElements::any;
    if (op.is<ops::Cast, ops::Neg>()) return kind_of(op.in(0));
    if (op.is<ops::Select>()) return kind_of_selected(ops::Select(op.node()));
    if (op.is<ops::Add, ops::Sub>()) return std::max(kind_of(op.in(0)), kind_of(op.in(1)));
    if (op.is<ops::Mul>()) {
      const MaskElements a = kind_of(op.in(0)), b = kind_of(op.in(1));
      const bool is_scaled =
          (op.in(0).is_tensor() && a == MaskElements::hiding) || (op.in(1).is_tensor() && b == MaskElements::hiding);
      if (is_scaled) return MaskElements::hiding;
      return std::max(a, b) == MaskElements::any ? MaskElements::any : std::min(a, b);
    }
    const auto inputs = activation_inputs(op);
    const bool moves = moves_codes(op) && op.info().quant.fill < 0 && inputs.size() == 1;
    return moves ? kind_of(inputs[0]) : MaskElements::any;
  }

  /// All elements of b that differ from 0 may be replaced: b.masked_fill(b.to(bool), a).
  MaskElements kind_of_selected(const ops::Select& select) const {
    const Op condition = select.condition().producer();
    const bool leaves_zeros = condition.is<ops::Cast>() && condition.in(0) == select.b();
    return leaves_zeros ? kind_of(select.a()) : std::max(kind_of(select.a()), kind_of(select.b()));
  }

  MaskElements kind_of_tensor(Value tensor) const {
    if (tensor.dtype() != DType::f32) return MaskElements::any;
    const auto all = elements(tensor);
    if (std::ranges::all_of(all, [](float one) { return one == 0 || is_large(one); })) return MaskElements::hiding;
    return std::ranges::all_of(all, [](float one) { return std::nearbyint(one) == one; }) ? MaskElements::whole
                                                                                          : MaskElements::any;
  }

  Model& model_;
  const IndexArithmetic indices_;
  std::map<const detail::ValueNode*, bool> may_hide_;
};

}  // namespace

void computed_masks(Model& model) { ComputedMasks(model).run(); }

}  // namespace halfstep::passes
