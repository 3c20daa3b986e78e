#include "halfstep/quant/code_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "halfstep/base/elements.h"
#include "halfstep/base/nearest.h"
#include "halfstep/base/objection.h"
#include "halfstep/ir/ops.h"
#include "halfstep/passes/coded_form.h"
#include "halfstep/passes/traits.h"
#include "halfstep/quant/accumulators.h"
#include "halfstep/quant/selector.h"

namespace halfstep::quant {
namespace {

using Reason = std::optional<std::string>;

/// Why the operator on codes does not take `op` as it is.
Reason refusal(Op op, Op activation) {
  try {
    passes::require_coded_form(op, activation);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // a defect of ours is no reason to stay in float
    return without_place(error.what(), op.where());
  }
}

class Planner {
 public:
  Planner(const Model& model, const Platform& platform, const std::vector<std::string>& in_float)
      : model_(model), platform_(platform) {
    for (const std::string& pattern : in_float) ask(pattern);
  }

  CodePlan run() {
    for (Op op : model_.graph.ops()) {
      if (fused_.contains(op.node())) continue;
      if (auto reason = why_float(op)) {
        plan_.in_float.emplace(op.node(), std::move(*reason));
      } else if (const Op activation = fusable_activation(op)) {
        plan_.activation.emplace(op.node(), activation);
        fused_.insert(activation.node());
      }
    }
    return std::move(plan_);
  }

 private:
  /// Layers that the pattern fits stay in float.
  void ask(const std::string& pattern) {
    const LayerNames names(model_);
    std::vector<std::string> others;
    for (Op op : model_.graph.ops()) {
      if (names.fits(pattern, op.name())) {
        asked_.try_emplace(op.node(), fmt::format("asked for as '{}'", pattern));
      } else {
        others.push_back(op.name());
      }
    }
    if (others.size() == model_.graph.ops().size())
      fail("float '{}': matches no layer{}", pattern, known_names(pattern, others));
  }

  Reason why_float(Op op) const {
    if (const auto asked = asked_.find(op.node()); asked != asked_.end()) return asked->second;
    const QuantInfo& quant = op.info().quant;
    const auto inputs = passes::feature_inputs(op);
    const bool computes = passes::accumulates(op) || quant.lookup;
    if (!(passes::moves_codes(op) || computes) || inputs.empty() || op.results().size() != 1)
      return fmt::format("{} has no form on codes", op.info().name);
    for (const Value input : inputs) {
      if (input.is_tensor()) return fmt::format("operand '{}' is a tensor, which has no codes", input.name());
      if (input.dtype() != DType::f32) return fmt::format("operand '{}' is {}", input.name(), name(input.dtype()));
    }
    if (auto reason = why_no_tensor(op, "weight", quant.weight)) return reason;
    if (auto reason = why_no_tensor(op, "bias", quant.bias)) return reason;
    if (auto reason = why_no_fill(op)) return reason;
    if (quant.weight < 0 && std::ranges::all_of(inputs, [&](Value v) { return plan_.is_real(v); }))
      return "only reals come to it";
    if (!computes) return std::nullopt;
    if (auto reason = refusal(op, {})) return reason;
    const std::string obstacle = obstacle_on_codes(op, *arith::parse_requantization(platform_.requantize));
    return obstacle.empty() ? std::nullopt : Reason(obstacle);
  }

  static Reason why_no_tensor(Op op, const char* what, int port) {
    const Value value = port < 0 ? Value() : op.in(port);
    if (!value || value.is_tensor()) return std::nullopt;
    return fmt::format("its {} '{}' is computed", what, value.name());
  }

  Reason why_no_fill(Op op) const {
    const int port = op.info().quant.fill;
    if (auto reason = why_no_tensor(op, "fill", port)) return reason;
    const Value fill = port < 0 ? Value() : op.in(port);
    if (!fill || !std::isnan(element(model_.tensors.at(fill.name()), 0))) return std::nullopt;
    return "it fills with NaN, which has no code";
  }

  Op fusable_activation(Op op) const {
    if (!passes::accumulates(op) || !op.out(0).has_one_use()) return {};
    const Op user = op.out(0).uses().front().first;
    const QuantInfo& quant = user.info().quant;
    const bool fuses = !asked_.contains(user.node()) && passes::has_trait(user, Trait::fuses_into_producer) &&
                       platform_.fuses(quant.activation, op.info().quant.trait) && has_factor(user) &&
                       !refusal(op, user);
    return fuses ? user : Op();
  }

  /// Whether a requantization has a factor for negative accumulators; without one the activation becomes a table.
  bool has_factor(Op activation) const {
    const auto alpha = activation.attributes().find("alpha");
    if (alpha == activation.attributes().end()) return true;
    const double slope = std::get<double>(alpha->second);
    int exponent = 0;
    return slope > 0 && std::isfinite(slope) &&
           (platform_.requantize != "power_of_two" || std::frexp(slope, &exponent) == 0.5);
  }

  const Model& model_;
  const Platform& platform_;
  CodePlan plan_;
  std::map<const detail::OpNode*, std::string> asked_;  ///< operators that were asked to stay, with the reason
  std::set<const detail::OpNode*> fused_;
};

}  // namespace

Op CodePlan::activation_of(Op op) const {
  const auto found = activation.find(op.node());
  return found == activation.end() ? Op() : found->second;
}

Value CodePlan::result_of(Op op) const {
  const Op fused = activation_of(op);
  return (fused ? fused : op).out(0);
}

CodePlan plan_codes(const Model& model, const Platform& platform, const std::vector<std::string>& in_float) {
  return Planner(model, platform, in_float).run();
}

}  // namespace halfstep::quant
