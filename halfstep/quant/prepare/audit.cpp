#include "halfstep/quant/prepare/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "halfstep/core/arith/multiplier.h"
#include "halfstep/core/arith/range.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/resampling.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/platform/observers.h"
#include "halfstep/quant/prepare/accumulators.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

using ops::FakeQuantize;

std::string named(Op op) { return fmt::format("{} '{}'", op.info().name, op.name()); }

/// The operation that computes the quantizer's codes, without a fused activation function. Null for an input of the
/// network.
Op main_of(const FakeQuantize& quantizer) {
  const Op producer = quantizer.x().producer();
  if (!producer || !passes::has_trait(producer, Trait::fuses_into_producer)) return producer;
  const Op before = producer.in(0).producer();
  return passes::accumulates(before) ? before : producer;
}

/// The quantizer whose codes `value` has, if any.
std::optional<FakeQuantize> codes_of(Value value) { return passes::unmoved(value).producer<FakeQuantize>(); }

std::vector<float> floats_of(const Model& model, Value tensor) {
  const auto contents = passes::contents_of(model, tensor).data<float>();
  return {contents.begin(), contents.end()};
}

class Auditor {
 public:
  explicit Auditor(const Model& model)
      : model_(model), given_(model.metadata.given_names), reasons_(model.metadata.quantizer_reasons), kinds_(model) {}

  Audit run() {
    Audit audit;
    const auto quantizers = model_.graph.all<FakeQuantize>();
    for (const auto& quantizer : quantizers) sharing_[passes::scale_tensor(quantizer).node()].push_back(quantizer.x());
    for (const auto& quantizer : quantizers) audit.quantizers.push_back(describe(quantizer));
    audit.in_float = float_fallback(model_);
    for (Op op : model_.graph.all_ops()) add_missing(op, audit.in_float);
    for (const auto& [name, what] : model_.metadata.deviations) {
      const Value value = model_.graph.value(name);
      audit.deviations.push_back({value ? result_name(value) : name, what});
    }
    return audit;
  }

 private:
  /// For a value with folded normalizations: the name of the last one's result. For a rearranged tensor: the name of
  /// the original tensor.
  std::string file_name(Value value) const {
    return given_name(given_, value.is_tensor() ? stored_name(value.name()) : result_name(value));
  }

  /// For a value between several operations that replaced one layer of the file: the value of the file that is moved to
  /// it, or that it is moved to.
  Value in_file(Value value) const {
    const Graph& file = model_.source->network.graph;
    if (const Value same = file.value(value.name())) return same;
    for (Value from = value; from.producer() && passes::moves_codes(from.producer());) {
      from = passes::unmoved(passes::activation_inputs(from.producer())[0]);
      if (const auto quantizer = from.producer<FakeQuantize>()) from = quantizer->x();
      if (const Value found = file.value(from.name())) return found;
    }
    for (Value to = value; to.has_one_use();) {
      const Op reader = to.uses().front().first;
      if (!reader.is<FakeQuantize>() && !passes::moves_codes(reader)) break;
      to = reader.out(0);
      if (const Value found = file.value(to.name())) return found;
    }
    return {};
  }

  std::string result_name(Value of) const {
    Value value = model_.source ? in_file(of) : Value();
    while (value && value.has_one_use()) {
      const Op reader = value.uses().front().first;
      if (!reader || !reader.is<ops::BatchNorm>() || model_.graph.op(reader.name())) break;
      value = reader.out(0);
    }
    return value ? value.name() : of.name();
  }

  std::string stored_name(const std::string& name) const {
    if (!model_.source) return name;
    for (size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
      if (model_.source->network.graph.tensor(name.substr(0, end))) return name.substr(0, end);
    }
    return name;
  }

  AuditedQuantizer describe(const FakeQuantize& quantizer) const {
    AuditedQuantizer row;
    row.is_weight = is_weight(quantizer);
    row.path = holders_of(quantizer);
    row.tensor = file_name(quantizer.x());
    row.bits = bits_of(quantizer);
    row.code_type = quantizer.code_type();
    row.code_min = quantizer.code_min();
    row.code_max = quantizer.code_max();
    row.axis = quantizer.axis();
    row.quantizer = kinds_.name_of(quantizer);
    add_place(quantizer, row);
    add_numbers(quantizer, row);
    for (const Value other : sharing_.at(passes::scale_tensor(quantizer).node())) {
      if (other != quantizer.x()) row.shares.push_back(file_name(other));
    }
    return row;
  }

  void add_place(const FakeQuantize& quantizer, AuditedQuantizer& row) const {
    const auto uses = quantizer.out().uses();
    const Op op = !row.is_weight ? main_of(quantizer) : uses.empty() ? Op() : uses[0].first;
    row.activation = "none";
    if (!op) {
      row.reason = row.is_weight      ? "unused"
                   : row.path.empty() ? "input of the network"
                                      : "value from outside the region";
    } else {
      add_layer(quantizer, op, row);
    }
    if (const auto rule = reasons_.find(quantizer.x().name()); rule != reasons_.end()) row.reason = rule->second;
  }

  void add_layer(const FakeQuantize& quantizer, Op op, AuditedQuantizer& row) const {
    row.layer = op.name();
    row.op = op.info().name;
    row.reason = fmt::format("{} of {}", row.is_weight ? "weight" : "result", named(op));
    if (row.is_weight) return;
    if (const Op activation = quantizer.x().producer(); activation != op) {
      row.activation = activation.info().quant.activation;
      row.reason += fmt::format(" with fused {}", named(activation));
    }
    if (op.is<FakeQuantize>()) row.reason = fmt::format("another scale for codes of '{}'", op.in(0).name());
    row.requantization = factors(quantizer, op);
  }

  void add_numbers(const FakeQuantize& quantizer, AuditedQuantizer& row) const {
    const ops::ObserveRange observer = observer_of(quantizer);
    row.symmetric = observer.zero_points() == "symmetric" || observer.zero_points() == "centered";
    row.power_of_two = observer.power_of_two();
    row.observer = observer_name(observer.method(), observer.merge());
    row.low = floats_of(model_, observer.low());
    row.high = floats_of(model_, observer.high());
    const auto zero_point = passes::contents_of(model_, observer.zero_point()).data<int32_t>();
    row.zero_point.assign(zero_point.begin(), zero_point.end());
    for (size_t c = 0; c < zero_point.size(); ++c) row.scale.push_back(effective_scale(model_, quantizer, c));
  }

  double scale_of(const FakeQuantize& quantizer, size_t channel = 0) const {
    return effective_scale(model_, quantizer, channel);
  }

  /// Empty if an operand has no codes, or a table replaces the factors.
  std::vector<Requantization> factors(const FakeQuantize& quantizer, Op op) const {
    const double step = scale_of(quantizer);
    std::vector<double> in;
    for (const Value input : op.is<FakeQuantize>() ? std::vector{op.out(0)} : passes::activation_inputs(op)) {
      const auto codes = codes_of(input);
      if (!codes) return {};
      in.push_back(scale_of(*codes) / step);
    }
    if (op.info().quant.weight >= 0) return weighted(op, in.front());
    switch (op.info().quant.accumulates) {
      case Accumulation::sum: return {single("a", in[0]), single("b", in[1])};
      case Accumulation::running: return {single("sums", in[0])};
      case Accumulation::axes:
      case Accumulation::taps: {
        const auto weights = passes::average_weights(op);
        if (weights) return {single("sums", in[0] / static_cast<double>(weights->sum))};
        return {};
      }
      case Accumulation::contraction:
      case Accumulation::product: return {single("sums", in[0] * in[1] * step)};
      case Accumulation::window: {
        const auto counts = window_counts(op);
        if (counts) return {single("sums", in[0] / static_cast<double>(counts->whole))};
        return {};
      }
      case Accumulation::none: break;
    }
    if (op.is<FakeQuantize>()) return {single("codes", in[0])};
    return {};
  }

  std::vector<Requantization> weighted(Op op, double of_input) const {
    const auto weight = op.in(op.info().quant.weight).producer<FakeQuantize>();
    if (!weight) return {};
    Requantization range;
    const size_t channels = passes::contents_of(model_, passes::scale_tensor(*weight)).data<float>().size();
    for (size_t c = 0; c < channels; ++c) {
      const Requantization one = single("sums", of_input * scale_of(*weight, c));
      if (c == 0) range = one;
      range.least = std::min(range.least, one.least);
      range.most = std::max(range.most, one.most);
      range.powers_of_two = range.powers_of_two && one.powers_of_two;
    }
    return {range};
  }

  static Requantization single(const char* what, double factor) {
    return {what, factor, factor, arith::is_power_of_two(factor)};
  }

  /// Adds an operation with weights that is no float fallback and lacks a quantizer, with the operands that lack one.
  static void add_missing(Op op, std::vector<FloatFallback>& in_float) {
    if (op.info().quant.weight < 0) return;
    const bool is_fallback =
        std::ranges::any_of(in_float, [&](const auto& fallback) { return fallback.layer == op.name(); });
    if (is_fallback) return;
    std::string missing;
    if (!op.in(op.info().quant.weight).producer<FakeQuantize>()) missing = "its weight has no quantizer";
    if (!codes_of(op.in(0))) missing += (missing.empty() ? "" : "; ") + std::string("its input has no codes");
    if (!missing.empty()) in_float.push_back({op.name(), op.info().name, missing});
  }

  const Model& model_;
  const std::map<std::string, std::string> given_;
  const QuantizerReasons reasons_;
  passes::QuantizerKinds kinds_;
  std::map<const detail::ValueNode*, std::vector<Value>> sharing_;  ///< quantized values by their scale tensor
};

}  // namespace

bool AuditedQuantizer::is_too_small() const {
  for (size_t i = 0; i < scale.size(); ++i) {
    const float reached = std::max(high[i], 0.0F) - std::min(low[i], 0.0F);
    const auto steps = static_cast<float>(code_max - code_min);
    const bool is_seen = low[i] <= high[i] && reached > 0;
    if (!is_seen || scale[i] > arith::kSmallestScale || reached >= arith::kSmallestScale * steps / 2) return false;
  }
  return true;
}

bool AuditedQuantizer::loses_all() const {
  bool is_any = false;
  for (size_t i = 0; i < scale.size(); ++i) {
    const float reached = low[i] > high[i] ? 0.0F : std::max(-low[i], high[i]);
    if (reached >= scale[i] / 2) return false;
    is_any = is_any || reached > 0;
  }
  return is_any;
}

Audit audit(const Model& model) { return Auditor(model).run(); }

}  // namespace halfstep::quant
