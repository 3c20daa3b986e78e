#include "halfstep/passes/canonical/clip_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// min(max(x, lowest), highest)
struct Limits {
  Value x;
  float lowest = -kInfinity, highest = kInfinity;
  std::vector<Op> inner = {};  ///< all operators of the chain but its last, from the last to the first
};

class ClipForms {
 public:
  explicit ClipForms(Model& model) : model_(model) {}

  /// Rewrites each chain once, starting from its last operator.
  void run() {
    std::set<const detail::OpNode*> inner;
    const auto ops = model_.graph.ops();
    for (const Op op : std::vector(ops.rbegin(), ops.rend())) {
      if (inner.contains(op.node())) continue;
      const auto limits = all_limits(op);
      if (!limits) continue;
      for (const Op before : limits->inner) inner.insert(before.node());
      if (!is_activation(op) || !std::ranges::all_of(limits->inner, is_activation)) rewrite(op, *limits);
    }
    for (const Value tensor : model_.graph.tensors()) {
      if (tensor.unused()) erase_tensor(model_, tensor);
    }
  }

 private:
  /// Whether platforms already know the operator.
  static bool is_activation(Op op) { return op.is<ops::Relu, ops::Relu6>(); }

  std::optional<float> number(Value value) const {
    if (!value.is_tensor() || updater_of(value) || value.dtype() != DType::f32 || count_elements(value.dims()) != 1)
      return std::nullopt;
    const float number = model_.tensors.at(value.name()).data<float>()[0];
    return std::isnan(number) ? std::nullopt : std::optional(number);
  }

  /// Returns the limits that `op` alone applies to its one computed operand.
  std::optional<Limits> limits_of(Op op) const {
    Limits limits;
    if (is_activation(op)) {
      limits = {op.in(0), 0, op.is<ops::Relu6>() ? 6 : kInfinity};
    } else if (op.is<ops::Clip>()) {
      const ops::Clip clip(op.node());
      const auto lowest = clip.lowest() ? number(clip.lowest()) : -kInfinity;
      const auto highest = clip.highest() ? number(clip.highest()) : kInfinity;
      if (!lowest || !highest) return std::nullopt;
      limits = {clip.x(), *lowest, *highest};
    } else if (op.is<ops::MaxOf, ops::MinOf, ops::SumOf, ops::MeanOf>()) {
      const bool has_numbers = op.is<ops::MaxOf, ops::MinOf>();
      for (const Value operand : op.operands()) {
        const auto one = has_numbers && op.operands().size() > 1 ? number(operand) : std::nullopt;
        if (!one && limits.x) return std::nullopt;
        if (!one) limits.x = operand;
        if (one && op.is<ops::MaxOf>()) limits.lowest = std::max(limits.lowest, *one);
        if (one && op.is<ops::MinOf>()) limits.highest = std::min(limits.highest, *one);
      }
    }
    const bool fits = limits.x && limits.x.dtype() == DType::f32 && limits.x.type() == op.out(0).type();
    return fits ? std::optional(limits) : std::nullopt;
  }

  /// Returns the limits that `op` applies together with the operators before it that nothing else reads.
  std::optional<Limits> all_limits(Op op) const {
    auto limits = limits_of(op);
    while (limits && limits->x.producer() && only_reader(limits->x)) {
      const Op before = limits->x.producer();
      const auto inner = limits_of(before);
      if (!inner) break;
      const auto clipped = [&](float v) { return std::min(std::max(v, limits->lowest), limits->highest); };
      const float lowest = clipped(inner->lowest), highest = clipped(inner->highest);
      limits->inner.push_back(before);
      limits = Limits{inner->x, lowest, highest, std::move(limits->inner)};
    }
    return limits;
  }

  void rewrite(Op op, const Limits& limits) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    const bool is_open = limits.highest >= kLargest;
    if (limits.lowest <= -kLargest && is_open) {
      if (is_output(op.out(0))) return put(op, ops::Identity::record(), {limits.x}, limits);
      op.out(0).replace_all_uses_with(limits.x);
      model_.graph.erase(op);
      return erase(limits.inner);
    }
    if (limits.lowest == 0 && is_open) return put(op, ops::Relu::record(), {limits.x}, limits);
    if (limits.lowest == 0 && limits.highest == 6) return put(op, ops::Relu6::record(), {limits.x}, limits);
    if (op.is<ops::Clip>() && limits.inner.empty()) return;
    const Value lowest = limit(op, ".lowest", limits.lowest), highest = limit(op, ".highest", limits.highest);
    put(op, ops::Clip::record(), {limits.x, lowest, highest}, limits);
  }

  /// Returns null if there is no limit.
  Value limit(Op op, const char* suffix, float number) {
    if (std::isinf(number)) return {};
    return add_tensor(model_, op.name() + suffix, Tensor::scalar(number).reshaped({}), Role::constant);
  }

  void put(Op op, const OpInfo& info, std::vector<Value> operands, const Limits& limits) {
    replace(model_.graph, op, insert_before(model_.graph, op, info, std::move(operands)));
    erase(limits.inner);
  }

  void erase(const std::vector<Op>& inner) {
    for (const Op op : inner) model_.graph.erase(op);
  }

  Model& model_;
};

}  // namespace

void clip_forms(Model& model) { ClipForms(model).run(); }

}  // namespace halfstep::passes
