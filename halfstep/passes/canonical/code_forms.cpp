#include "halfstep/passes/canonical/code_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

bool holds_floats(Value value) {
  return value && value.is_tensor() && !updater_of(value) && value.dtype() == DType::f32;
}

/// Elements that a mask hides, and the number that replaces them.
struct Mask {
  Value condition;  ///< type bool
  bool inverse;     ///< elements are hidden where the condition is false
  Value number;
};

class CodeForms {
 public:
  CodeForms(Model& model, bool masks_alone) : model_(model), masks_alone_(masks_alone), indices_(model.graph) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (op.results().size() != 1 || op.results()[0].dtype() != DType::f32) continue;
      if (op.is<ops::Select>()) {
        const ops::Select select(op.node());
        if (!rewrite_guard(select) && !rewrite_softplus(select)) rewrite_select(select);
        continue;
      }
      if (op.is<ops::Add>()) rewrite_sum(ops::Add(op.node()));
      if (masks_alone_) continue;
      if (op.is<ops::Div>()) rewrite_division(ops::Div(op.node()));
      if (op.is<ops::Cast>()) rewrite_cast(ops::Cast(op.node()));
      if (op.is<ops::Clip>()) rewrite_clip(ops::Clip(op.node()));
      if (op.is<ops::ReduceSum>()) rewrite_total(ops::ReduceSum(op.node()));
      if (op.is<ops::MaxOf>()) rewrite_extreme(op, ops::ReduceMax::record());
      if (op.is<ops::MinOf>()) rewrite_extreme(op, ops::ReduceMin::record());
    }
    for (const ops::Select& select : model_.graph.all<ops::Select>()) rewrite_numbers(select);
    const std::vector<Op> ops = model_.graph.ops();
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      if (gone_.contains(op->node()) && op->out(0).unused()) model_.graph.erase(*op);
    }
    for (const Value tensor : model_.graph.tensors()) {
      if (tensor.unused()) erase_tensor(model_, tensor);
    }
  }

 private:
  std::span<const float> elements(Value tensor) const {
    return std::as_const(model_.tensors.at(tensor.name())).data<float>();
  }

  std::optional<float> number(Value value) const {
    if (!holds_floats(value) || value.role() != Role::constant || count_elements(value.dims()) != 1)
      return std::nullopt;
    return elements(value)[0];
  }

  void rewrite_select(ops::Select select) {
    const auto a = number(select.a()), b = number(select.b());
    if (!a && !b) return rewrite_choice(select);
    if (a && b) return;
    if (b) fill(select, select.a(), {select.condition(), true, select.b()});
    if (a) fill(select, select.b(), {select.condition(), false, select.a()});
  }

  /// A select of two values is the sum of what it takes of each, with 0 elsewhere.
  void rewrite_choice(ops::Select select) {
    if (masks_alone_ || indices_.contains(select)) return;
    const Value zero = stored_number(select.name() + ".zero", 0);
    const auto part = [&](Value value, bool inverse) {
      return inserted(select, ops::MaskFill::record(), {value, select.condition(), zero}, {{"inverse", inverse}});
    };
    replace(select, ops::Add::record(), {part(select.a(), true), part(select.b(), false)}, {});
  }

  /// The numbers 0 and 1 of a condition are a 0 that the condition fills with 1.
  void rewrite_cast(ops::Cast cast) {
    if (cast.x().dtype() != DType::boolean || cast.x().is_tensor() || indices_.contains(cast)) return;
    const Value zero = stored_number(cast.name() + ".zero", 0), one = stored_number(cast.name() + ".one", 1);
    replace(cast, ops::MaskFill::record(), {zero, cast.x(), one}, {});
  }

  Value stored_number(const std::string& name, float number) {
    return add_tensor(model_, name, Tensor::scalar(number).reshaped({}), Role::constant);
  }

  /// Rewrites a select of two numbers: one of them is filled with the other.
  void rewrite_numbers(ops::Select select) {
    const auto a = number(select.a()), b = number(select.b());
    if (gone_.contains(select.node()) && select.out().unused()) return;
    if (a && b && !hides(std::min(*a, *b), select.out()))
      fill(select, select.a(), {select.condition(), true, select.b()});
  }

  void rewrite_sum(ops::Add add) {
    for (const auto& [x, other] : {std::pair(add.a(), add.b()), std::pair(add.b(), add.a())}) {
      if (x.is_tensor()) continue;
      const auto mask = mask_of(other, add);
      if (mask && fill(add, x, *mask)) return;
    }
  }

  /// Returns the mask of a value whose elements are 0 or hide elements of `sum`. New operations for it are inserted
  /// before `sum`.
  std::optional<Mask> mask_of(Value value, Op sum) {
    if (holds_floats(value)) return stored_mask(value, sum);
    const Op op = value.producer();
    if (op.is<ops::Select>()) {
      const ops::Select select(op.node());
      const auto a = number(select.a()), b = number(select.b());
      if (!a || !b || std::max(*a, *b) != 0 || !hides(std::min(*a, *b), sum.out(0))) return std::nullopt;
      gone_.insert(op.node());
      return *a == 0 ? Mask{select.condition(), true, select.b()} : Mask{select.condition(), false, select.a()};
    }
    if (!op || !moves_codes(op) || op.info().quant.fill >= 0 || activation_inputs(op).size() != 1) return std::nullopt;
    if (op.is<ops::MaxPool2d, ops::MaxPool, ops::ReduceMax, ops::ReduceMin, ops::TopK>()) return std::nullopt;
    auto mask = mask_of(op.in(0), sum);
    if (!mask) return std::nullopt;
    gone_.insert(op.node());
    std::vector<Value> operands = op.operands();
    operands[0] = mask->condition;
    mask->condition =
        model_.graph.insert({&op.info(), std::move(operands), op.attributes(), op.name(), op.location()}, nullptr, sum)
            .out(0);
    return mask;
  }

  std::optional<Mask> stored_mask(Value tensor, Op sum) {
    const auto from = elements(tensor);
    const float hidden = from.empty() ? 0 : std::ranges::min(from);
    if (std::isnan(hidden) || !hides(hidden, sum.out(0))) return std::nullopt;
    if (!std::ranges::all_of(from, [&](float one) { return one == 0 || one == hidden; })) return std::nullopt;
    Tensor condition(DType::boolean, tensor.dims());
    std::ranges::transform(from, condition.data<bool>().begin(), [](float one) { return one != 0; });
    return Mask{add_tensor(model_, tensor.name() + ".hides", std::move(condition), Role::constant), false,
                add_tensor(model_, tensor.name() + ".hidden", Tensor::scalar(hidden), Role::constant)};
  }

  /// Rewrites a select of 0 instead of the NaN that softmax returns for rows that are hidden as a whole. It becomes a
  /// fill of the hidden elements with 0.
  bool rewrite_guard(ops::Select select) {
    const Op guard = select.condition().producer(), softmax = select.b().producer();
    if (!guard.is<ops::IsNan>() || !softmax.is<ops::Softmax>() || guard.in(0) != select.b()) return false;
    if (number(select.a()) != 0.0F) return false;
    gone_.insert(guard.node());
    if (may_hide_a_row(softmax.in(0))) {
      const ops::MaskFill mask(softmax.in(0).producer().node());
      return fill(select, select.b(), {mask.condition(), mask.inverse(), select.a()});
    }
    if (select.b().uses().size() != 2 || is_output(select.b())) return false;
    gone_.insert(softmax.node());
    return replace(select, softmax.info(), {softmax.in(0)}, softmax.attributes());
  }

  /// Rewrites a softplus that returns large numbers as they are. From 20 on both are equal in float32.
  bool rewrite_softplus(ops::Select select) {
    constexpr float kEqual = 20;
    const Op above = select.condition().producer(), softplus = select.b().producer();
    if (masks_alone_ || !above.is<ops::Greater>() || !softplus.is<ops::Softplus>() || above.in(0) != select.a() ||
        softplus.in(0) != select.a() || number(above.in(1)).value_or(0) < kEqual)
      return false;
    gone_.insert(above.node());
    gone_.insert(softplus.node());
    return replace(select, softplus.info(), {select.a()}, softplus.attributes());
  }

  /// A row of negative infinities makes the softmax NaN, a row of lowest finite numbers does not.
  bool may_hide_a_row(Value x) const {
    if (!x.producer().is<ops::MaskFill>()) return false;
    const ops::MaskFill mask(x.producer().node());
    const auto value = number(mask.value());
    if (value && std::isfinite(*value)) return false;
    const Value condition = mask.condition();
    if (!condition.is_tensor() || condition.dims().empty()) return true;
    const auto hides = std::as_const(model_.tensors.at(condition.name())).data<bool>();
    const auto row = static_cast<size_t>(condition.dims().back());
    for (size_t begin = 0; begin < hides.size(); begin += row) {
      const auto part = hides.subspan(begin, row);
      if (std::ranges::find(part, mask.inverse()) == part.end()) return true;
    }
    return false;
  }

  /// A product has an integer implementation, a division does not.
  void rewrite_division(ops::Div div) {
    const auto divisor = number(div.b());
    if (!divisor || div.a().is_tensor() || !std::isnormal(*divisor) || !std::isnormal(1 / *divisor)) return;
    Tensor contents = model_.tensors.at(div.b().name()).clone();
    contents.data<float>()[0] = 1 / *divisor;
    const Value reciprocal = add_tensor(model_, div.b().name() + ".reciprocal", std::move(contents), Role::constant);
    replace(div, ops::Mul::record(), {div.a(), reciprocal}, {});
  }

  /// A sum over axes is their mean times the number of its elements.
  void rewrite_total(ops::ReduceSum sum) {
    const Dims& dims = sum.x().dims();
    int64_t count = 1;
    std::vector<int64_t> axes = sum.axes();
    if (axes.empty()) return;
    for (const int64_t axis : axes) {
      const int64_t extent = dims[static_cast<size_t>(axis < 0 ? axis + std::ssize(dims) : axis)];
      if (extent <= 0) return;
      count *= extent;
    }
    const Value mean = inserted(sum, ops::ReduceMean::record(), {sum.x()},
                                {{"axes", std::move(axes)}, {"keep_dims", sum.keep_dims()}});
    const Tensor number = Tensor::scalar(static_cast<float>(count));
    replace(sum, ops::Mul::record(), {mean, add_tensor(model_, sum.name() + ".count", number, Role::constant)}, {});
  }

  /// A function of each element becomes a table. A clip with its limits as operands cannot.
  void rewrite_clip(ops::Clip clip) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    const auto lowest = clip.lowest() ? number(clip.lowest()) : -kLargest;
    const auto highest = clip.highest() ? number(clip.highest()) : kLargest;
    if (clip.x().is_tensor() || !lowest || !highest || std::isnan(*lowest) || std::isnan(*highest)) return;
    const double beta = std::clamp(*highest, -kLargest, kLargest);
    const double alpha = std::clamp<double>(*lowest, -kLargest, beta);
    replace(clip, ops::HardTanh::record(), {clip.x()}, {{"alpha", alpha}, {"beta", beta}});
  }

  /// The extreme of several values is the extreme along a new axis, which they share after a concatenation.
  void rewrite_extreme(Op op, const OpInfo& reduction) {
    const Dims& dims = op.out(0).dims();
    const std::vector<Value> operands = op.operands();
    if (operands.size() < 2 || dims.empty() || std::ranges::any_of(operands, &Value::is_tensor)) return;
    if (std::find(dims.begin() + 1, dims.end(), kUnknown) != dims.end()) return;
    constexpr int64_t kAxis = 1;
    std::vector<Value> parts;
    for (Value part : operands) {
      if (part.dims() != dims) part = inserted(op, ops::Expand::record(), {part}, {{"dims", expanded(dims)}});
      parts.push_back(inserted(op, ops::Unsqueeze::record(), {part}, {{"axes", std::vector<int64_t>{kAxis}}}));
    }
    const Value all = inserted(op, ops::Concat::record(), parts, {{"axis", kAxis}});
    replace(op, reduction, {all}, {{"axes", std::vector<int64_t>{kAxis}}, {"keep_dims", false}});
  }

  /// Extents that expand a value to `dims`. An unknown number of samples stays as it is.
  static std::vector<int64_t> expanded(const Dims& dims) {
    std::vector<int64_t> all(dims.begin(), dims.end());
    if (all[0] == kUnknown) all[0] = 1;
    return all;
  }

  Value inserted(Op before, const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
    return insert_before(model_.graph, before, info, std::move(operands), std::move(attributes)).out(0);
  }

  bool fill(Op old, Value x, const Mask& mask) {
    return replace(old, ops::MaskFill::record(), {x, mask.condition, mask.number}, {{"inverse", mask.inverse}});
  }

  /// Inserts the new operation under the name of the old one if it has a result of the same type.
  bool replace(Op old, const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
    const Op made = insert_before(model_.graph, old, info, std::move(operands), std::move(attributes));
    if (made.out(0).type() != old.out(0).type()) {
      model_.graph.erase(made);
      return false;
    }
    passes::replace(model_.graph, old, made);
    return true;
  }

  Model& model_;
  bool masks_alone_;
  const IndexArithmetic indices_;
  std::set<const detail::OpNode*> gone_;  ///< inputs of replaced operators, which may have lost their last reader
};

}  // namespace

void code_forms(Model& model) { CodeForms(model, false).run(); }

void mask_forms(Model& model) { CodeForms(model, true).run(); }

}  // namespace halfstep::passes
