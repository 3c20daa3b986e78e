#include "halfstep/quant/prepare/code_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/code_forms.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/canonical/layers/norm_forms.h"
#include "halfstep/passes/canonical/layers/open_products.h"
#include "halfstep/passes/canonical/layers/open_recurrent.h"
#include "halfstep/passes/canonical/lone_affines.h"
#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/graph/spatial_axes.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/quantized/coded_form.h"
#include "halfstep/quant/platform/selector.h"
#include "halfstep/quant/prepare/accumulators.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/quantized_regions.h"

namespace halfstep::quant {
namespace {

using Reason = std::optional<std::string>;

constexpr const char* kAskedFor = "asked for as ";
constexpr const char* kNoForm = "has no integer implementation";
// Remedies, which follow the reason.
constexpr const char* kBetween =
    "; it interpolates at computed positions: keep it in float (--float-fallback), or use a resize";
constexpr const char* kComputes = "; gather the updates and add them, or keep it in float (--float-fallback)";
constexpr const char* kOnlyFloats = "its inputs are all float values";
constexpr const char* kIndices = "it computes indices or masks";

/// A normalization over an axis other than the last one, or over several axes.
bool normalizes_other_axes(Op op) {
  if (op.info().quant.trait != Trait::normalizes || !op.attributes().contains("axis")) return false;
  const auto axis = get<int64_t>(op.attributes(), "axis");
  return axis != -1 && axis + 1 != std::ssize(op.in(0).dims());
}

/// A mean over the elements of an image, alone or as a part of a norm, whose extents only a run knows.
bool averages_open_image(Op op) {
  return op.is<ops::GlobalAvgPool, ops::InstanceNorm, ops::GroupNorm>() &&
         std::ranges::find(op.in(0).dims().begin() + 2, op.in(0).dims().end(), kUnknown) != op.in(0).dims().end();
}

/// The reason why the integer operator does not support `op`.
Reason refusal(Op op, Op activation) {
  try {
    passes::require_coded_form(op, activation);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // an internal error must not become a float fallback
    if (normalizes_other_axes(op)) return fmt::format("{} over axes other than the last {}", op.info().name, kNoForm);
    return placed(error.diagnostics().front(), "", op.where()).reason();
  }
}

class Planner {
 public:
  Planner(const Model& model, const Platform& platform, const AskedLayers& in_float, const Insertion* insertion)
      : model_(model), platform_(platform), insertion_(insertion), indices_(model.graph), asked_(in_float) {}

  CodePlan run() {
    for (Op op : model_.graph.ops()) {
      if (fused_.contains(op.node())) continue;
      auto reason = why_float(op);
      const Op activation = reason ? Op() : fusable_activation(op);
      if (!reason && insertion_ != nullptr) reason = why_without_quantizers(op, activation);
      if (reason) {
        plan_.in_float.emplace(op.node(), std::move(*reason));
      } else if (activation) {
        plan_.activation.emplace(op.node(), activation);
        fused_.insert(activation.node());
      }
      note_codes(op, activation);
    }
    if (insertion_ == nullptr) leave_stored_floats();
    return std::move(plan_);
  }

 private:
  Reason why_float(Op op) const {
    if (const auto asked = asked_.find(op.node()); asked != asked_.end()) return asked->second;
    if (op.info().flow != Flow::none) return "its regions have their own quantizers";
    if (std::ranges::find(platform_.in_float, op.info().name) != platform_.in_float.end())
      return fmt::format("{} computes it in float", platform_.name);
    if (averages_open_image(op)) return kOpenMean;
    if (const std::string obstacle = obstacle_in_layer(op); !obstacle.empty())
      return fmt::format("{} {}: {}", op.info().name, kNoForm, obstacle);
    const QuantInfo& quant = op.info().quant;
    const auto inputs = passes::activation_inputs(op);
    const bool computes = passes::computes_codes(op);
    const bool only_reads = passes::moves_codes(op) || passes::ranks_codes(op);
    if (!(only_reads || computes) || inputs.empty() || (computes && op.results().size() != 1))
      return fmt::format("{} {}{}", op.info().name, kNoForm, op.is<ops::GridSample, ops::RoiAlign>() ? kBetween : "");
    if (only_reads) {
      if (auto reason = why_not_moved(op)) return reason;
    }
    for (const Value input : inputs) {
      if (input.dtype() != DType::f32) return why_not_float32(input);
      if (input.is_tensor() && quant.weight >= 0)
        return fmt::format("operand '{}' is a stored tensor; in a {} only a weight may be one", input.name(),
                           op.info().name);
      if (auto reason = why_no_codes(input)) return reason;
    }
    if (std::ranges::all_of(op.operands(), [](Value v) { return !v || v.is_tensor(); }))
      return "all its operands are stored";
    if (auto reason = why_no_tensor(op, "weight", quant.weight)) return reason;
    if (auto reason = why_no_tensor(op, "factor", quant.factor)) return reason;
    if (auto reason = why_no_tensor(op, "bias", quant.bias)) return reason;
    if (auto reason = why_no_fill(op)) return reason;
    if ((quant.weight < 0 || passes::scales_channels(op)) &&
        std::ranges::all_of(inputs, [&](Value v) { return is_real(v) || is_stored(v); }) &&
        std::ranges::any_of(inputs, [&](Value v) { return is_real(v) && !indices_.contains(v.producer()); }))
      return kOnlyFloats;
    if (indices_.contains(op) && (!passes::ranks_codes(op) || indices_.is_exact(op))) return kIndices;
    if (!platform_.no_integers.empty()) return platform_.no_integers;
    if (quant.weight >= 0 && platform_.weight_zero_points == "affine")
      return "weights with zero points have no integer implementation";
    if (!computes) return std::nullopt;
    if (auto reason = refusal(op, {})) return reason;
    const auto form = *arith::parse_requantization(platform_.requantize);
    if (quant.factor >= 0 && arith::traits(form).powers_of_two &&
        !passes::has_powers_of_two(model_, op.in(quant.factor)))
      return "it multiplies by values that are not powers of two";
    const std::string obstacle = obstacle_on_codes(op, form, platform_.average_bits);
    return obstacle.empty() ? std::nullopt : Reason(obstacle);
  }

  /// Why preparation cannot write a layer as operators that have codes. "" if it can.
  std::string obstacle_in_layer(Op op) const {
    if (const std::string recurrent = passes::recurrent_obstacle(op); !recurrent.empty()) return recurrent;
    if (insertion_ != nullptr) return "";
    if (op.is<ops::Clip>()) {
      for (const Value bound : {ops::Clip(op.node()).lowest(), ops::Clip(op.node()).highest()}) {
        if (bound && !bound.is_tensor()) return fmt::format("its bound '{}' is computed", bound.name());
      }
    }
    return passes::product_obstacle(op);
  }

  /// The reason why the codes of results are not codes of operands.
  static Reason why_not_moved(Op op) {
    if (const auto found = op.attributes().find("reduction"); found != op.attributes().end()) {
      const auto& reduction = std::get<std::string>(found->second);
      if (reduction == "add" || reduction == "mul")
        return fmt::format("{} with reduction '{}' {}{}", op.info().name, reduction, kNoForm, kComputes);
    }
    const bool has_empty = op.is<ops::MaxPool>() && passes::has_window_of_padding(ops::MaxPool(op.node()));
    return has_empty ? Reason("a window has only padding, which has no code") : std::nullopt;
  }

  static std::string why_not_float32(Value input) {
    const DType dtype = input.dtype();
    return fmt::format(
        "operand '{}' is {}{}", input.name(), name(dtype),
        is_float(dtype) ? ", expected f32; export the network in float32 (in PyTorch: model.float())" : "");
  }

  static Reason why_no_tensor(Op op, const char* what, int port) {
    const Value value = port < 0 ? Value() : op.in(port);
    if (!value) return std::nullopt;
    if (!value.is_tensor()) return fmt::format("its {} '{}' is computed", what, value.name());
    if (count_elements(value.dims()) > 0) return std::nullopt;
    return fmt::format("its {} '{}' has no elements", what, value.name());
  }

  /// Masks contain infinities, which would leave no scale for other values.
  Reason why_no_codes(Value value) const {
    if (!value.is_tensor()) return std::nullopt;
    const auto elements = std::as_const(model_.tensors.at(value.name())).data<float>();
    if (std::ranges::all_of(elements, [](float element) { return std::isfinite(element); })) return std::nullopt;
    return fmt::format("operand '{}' is a tensor with NaN or infinities, which have no codes", value.name());
  }

  Reason why_no_fill(Op op) const {
    const int port = op.info().quant.fill;
    if (auto reason = why_no_tensor(op, "fill", port)) return reason;
    const Value fill = port < 0 ? Value() : op.in(port);
    const double number = fill ? element(model_.tensors.at(fill.name()), 0) : 0;
    if (std::isnan(number)) return "it fills with NaN, which has no code";
    const bool hides = passes::hides(-std::fabs(number), op.out(0));
    if (!hides || (number < 0 && reads_maxima(op.out(0)))) return std::nullopt;
    if (number < 0 && insertion_ == nullptr && passes::reach_of(origin_of(op), 1) > 0) return std::nullopt;
    return fmt::format(
        "it fills with {}, so the scale is too coarse for other values; only a maximum or a softmax over the last axis "
        "may read it",
        number);
  }

  /// Whether only maxima read the value, possibly after operators that move codes. A pad value that is the lowest
  /// number is then never a result.
  static bool reads_maxima(Value value) {
    return !passes::is_output(value) && std::ranges::all_of(value.uses(), [](const auto& use) {
      const Op op = use.first;
      if (op.results().size() != 1) return false;  // positions
      return op.is<ops::MaxPool2d, ops::MaxPool, ops::ReduceMax>() ||
             (passes::moves_codes(op) && reads_maxima(op.out(0)));
    });
  }

  /// The value from which `op` has its codes. Operators that move codes share the scale of their input.
  static Value origin_of(Op op) {
    Value value = passes::activation_inputs(op)[0];
    while (value.producer() && passes::moves_codes(value.producer())) {
      const auto inputs = passes::activation_inputs(value.producer());
      if (inputs.size() != 1) break;
      value = inputs[0];
    }
    return value;
  }

  /// Whether the value is a tensor of the network, or a moved tensor. Example: a tensor repeated for every sample of a
  /// batch, which a file for one sample does not repeat.
  bool is_stored(Value value) const { return value.is_tensor() || stored_.contains(value.node()); }

  /// A moved tensor that only float operators read stays in float, as a tensor would. Regions compute on codes.
  void leave_stored_floats() {
    const auto ops = model_.graph.ops();
    for (Op op : std::vector(ops.rbegin(), ops.rend())) {
      if (plan_.is_float(op) || !stored_.contains(op.out(0).node()) || model_.graph.body().returns(op.out(0))) continue;
      const auto uses = op.out(0).uses();
      const auto is_in_float = [&](const auto& use) {
        return plan_.is_float(use.first) && use.first.info().flow == Flow::none;
      };
      if (std::ranges::all_of(uses, is_in_float)) plan_.in_float.emplace(op.node(), kOnlyFloats);
    }
  }

  /// Whether the value has no codes and no quantizer. Results of regions get a quantizer, since regions compute on
  /// codes.
  bool is_real(Value value) const {
    const bool leaves_region = value.producer() && value.producer().info().flow != Flow::none;
    return plan_.is_real(value) && !is_quantized(value) && !leaves_region;
  }

  bool is_quantized(Value value) const { return insertion_ != nullptr && insertion_->has(value); }

  /// For a target with insertion rules: whether the quantizer is after the activation function and not before it.
  bool quantizes_behind(Op op, Op activation) const {
    return insertion_ == nullptr || (is_quantized(activation.out(0)) && !is_quantized(op.out(0)));
  }

  /// The value whose quantizer precedes `value`, or null.
  Value codes_of(Value value) const {
    const auto found = codes_.find(value.node());
    if (found != codes_.end()) return found->second;
    return !value.producer() && is_quantized(value) ? value : Value();
  }

  /// The reason why an operator with an integer implementation stays in float under the target's insertion rules.
  Reason why_without_quantizers(Op op, Op activation) const {
    const auto inputs = passes::activation_inputs(op);
    for (const Value input : inputs) {
      if (!codes_of(input))
        return fmt::format("'{}' has no quantizer on {} (--also {} adds one)", input.name(), platform_.name, op.name());
      if (passes::moves_codes(op) && codes_of(input) != codes_of(inputs[0]))
        return fmt::format("'{}' and '{}' have different scales on {}", inputs[0].name(), input.name(), platform_.name);
    }
    if (passes::moves_codes(op)) return std::nullopt;
    const Value result = (activation ? activation : op).out(0);
    if (!is_quantized(result))
      return fmt::format("its result '{}' has no quantizer on {} (insert.gives and insert.outputs add one)",
                         result.name(), platform_.name);
    if (op.info().quant.weight >= 0 && std::ranges::find(insertion_->weighted, op) == insertion_->weighted.end())
      return fmt::format("its weight has no quantizer on {}", platform_.name);
    return std::nullopt;
  }

  void note_codes(Op op, Op activation) {
    const auto inputs = passes::activation_inputs(op);
    if (passes::moves_codes(op) && !inputs.empty() &&
        std::ranges::all_of(inputs, [&](Value v) { return is_stored(v); }))
      stored_.insert(op.out(0).node());
    for (const Value result : (activation ? activation : op).results()) {
      if (is_quantized(result))
        codes_[result.node()] = result;
      else if (!plan_.is_float(op) && passes::moves_codes(op))
        codes_[result.node()] = codes_of(passes::activation_inputs(op)[0]);
    }
  }

  Op fusable_activation(Op op) const {
    if (!passes::accumulates(op) || !op.out(0).has_one_use()) return {};
    const Op user = op.out(0).uses().front().first;
    const QuantInfo& quant = user.info().quant;
    const bool fuses = !asked_.contains(user.node()) && passes::has_trait(user, Trait::fuses_into_producer) &&
                       platform_.fuses(quant.activation, op.info().quant.trait) && has_factor(user, platform_) &&
                       quantizes_behind(op, user) && !refusal(op, user);
    return fuses ? user : Op();
  }

  const Model& model_;
  const Platform& platform_;
  const Insertion* insertion_;  ///< null: every operator with an integer implementation has codes
  const passes::IndexArithmetic indices_;
  CodePlan plan_;
  const AskedLayers& asked_;  ///< operators that the user wants in float, with the reason
  std::set<const detail::OpNode*> fused_;
  std::set<const detail::ValueNode*> stored_;        ///< moved tensors
  std::map<const detail::ValueNode*, Value> codes_;  ///< with `insertion_`: the value whose codes a value has
};

}  // namespace

bool has_factor(Op activation, const Platform& platform) {
  const auto alpha = activation.attributes().find("alpha");
  if (alpha == activation.attributes().end()) return true;
  const double slope = std::get<double>(alpha->second);
  int exponent = 0;
  return slope > 0 && std::isfinite(slope) &&
         (platform.requantize != "power_of_two" || std::frexp(slope, &exponent) == 0.5);
}

Op CodePlan::activation_of(Op op) const {
  const auto found = activation.find(op.node());
  return found == activation.end() ? Op() : found->second;
}

Value CodePlan::result_of(Op op) const {
  const Op fused = activation_of(op);
  return (fused ? fused : op).out(0);
}

bool was_asked_for(const std::string& reason) { return reason.starts_with(kAskedFor); }

bool has_no_form(const std::string& reason) { return reason.find(kNoForm) != std::string::npos; }

bool is_of_another(const std::string& reason) { return reason == kOnlyFloats || reason == kIndices; }

AskedLayers asked_layers(const Model& model, const std::vector<std::string>& patterns, const char* option) {
  AskedLayers asked;
  const LayerNames names(model);
  for (const std::string& pattern : patterns) {
    const auto layers = model.graph.all_ops();
    const auto fitting = [&](Op op) { return names.fits(pattern, op); };
    if (std::ranges::none_of(layers, fitting))
      fail(errors::selector_matches_nothing(option, pattern, known_layers(pattern, {layers.begin(), layers.end()})));
    for (Op op : layers) {
      if (fitting(op)) asked.try_emplace(op.node(), fmt::format("{}'{}'", kAskedFor, pattern));
    }
  }
  include_inner(asked, model.graph);
  return asked;
}

AskedLayers staying_in_float(const Model& model, const std::vector<std::string>& in_float) {
  AskedLayers asked = asked_layers(model, in_float, "skip_layers");
  asked.merge(outside_regions(model.graph));
  return asked;
}

CodePlan plan_codes(const Model& model, const Platform& platform, const AskedLayers& in_float,
                    const Insertion* insertion) {
  return Planner(model, platform, in_float, insertion).run();
}

}  // namespace halfstep::quant
