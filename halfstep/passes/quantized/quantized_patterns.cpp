#include "halfstep/passes/quantized/quantized_patterns.h"

#include <algorithm>
#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/quantized/coded_form.h"
#include "halfstep/passes/quantized/coded_rebuild.h"
#include "halfstep/passes/quantized/quantized_steps.h"

namespace halfstep::passes {
namespace {

/// Scale and zero point that codes are read with.
struct Reading {
  Value scale, zero_point;
};

class Lowering final : CodedRebuild {
 public:
  Lowering(const Model& source, bool training)
      : CodedRebuild(source), training_(training || has_live_observers(source.graph)) {}

  Model run() {
    for (const QuantizedStep& step : quantized_steps(source_)) lower(step);
    for (const auto& observer : source_.graph.body().all<ops::ObserveRange>()) observe(observer);
    finish_network();
    return std::move(result_);
  }

 private:
  static bool has_live_observers(const Graph& graph) {
    const auto observers = graph.all<ops::ObserveRange>();
    return std::any_of(observers.begin(), observers.end(), [](const ops::ObserveRange& o) { return !o.is_test(); });
  }

  void lower(const QuantizedStep& step) {
    builder_.at(step.main ? step.main.location() : step.quantizer.location());
    switch (step.kind) {
      case StepKind::input: return lower_input(step);
      case StepKind::move:
      case StepKind::rank: return rebuild_move(step);
      case StepKind::real: return rebuild_real(step.main);
      case StepKind::compute:
      case StepKind::rescale: return lower_compute(step);
    }
  }

  void lower_input(const QuantizedStep& step) {
    const ops::FakeQuantize& q = step.quantizer;
    set_codes(q.out(), quantize(q, real(q.x()), scale_of(q), q.name()));
    readings_[q.out().node()] = {scale_of(q), real(q.zero_point())};
  }

  Value quantize(const ops::FakeQuantize& q, Value x, Value scale, const std::string& name) {
    const auto op = ops::quantize(builder_, {.x = x,
                                             .scale = scale,
                                             .zero_point = real(q.zero_point()),
                                             .axis = q.axis(),
                                             .code_min = q.code_min(),
                                             .code_max = q.code_max(),
                                             .code_type = q.code_type(),
                                             .method = q.method(),
                                             .rounding = q.rounding(),
                                             .gradient_scale = q.gradient_scale(),
                                             .name = name});
    return op.out();
  }

  Value code_of_fill(Value fill, Value source, const std::string& name) override {
    const Reading& reading = readings_.at(source.node());
    if (fill) return quantize(quantizer_of(source), real(fill), reading.scale, name);
    const auto type = std::string(halfstep::name(codes(source).dtype()));
    return ops::cast(builder_, {.x = reading.zero_point, .to = type, .name = name}).out();
  }

  void read_alike(Value moved, Value source) override { readings_[moved.node()] = readings_.at(source.node()); }

  void lower_compute(const QuantizedStep& step) {
    const CodedForm form = step.kind == StepKind::rescale ? CodedForm{&ops::QuantizedRescale::record(), {}}
                                                          : coded_form(step.main, step.activation);
    std::map<std::string, Value> operands;
    if (step.kind == StepKind::rescale) {
      add_codes(operands, "x", step.quantizer.x());
    } else {
      const auto& ports = step.main.info().inputs;
      for (size_t port = 0; port < ports.size(); ++port) add_operand(operands, step, static_cast<int>(port));
      if (step.weight) add_weight(operands, step);
    }
    operands["y_scale"] = scale_of(step.quantizer);
    operands["y_zero_point"] = real(step.quantizer.zero_point());

    const Op op = builder_.insert({form.target,
                                   arrange_operands(*form.target, operands, step.quantizer.where()),
                                   attributes_of(step, form),
                                   step.name(),
                                   {}});
    set_codes(step.result(), op.out(0));
    readings_[step.result().node()] = {operands["y_scale"], operands["y_zero_point"]};
    if (training_) {
      keep_real(step, op, operands);
    } else if (step.weight) {
      show_parameters(step, operands);
    }
  }

  Value dequantize(Value old, const std::string& name) override {
    const auto& [scale, zero_point] = readings_.at(old.node());
    return ops::dequantize(builder_, {.x = codes(old), .scale = scale, .zero_point = zero_point, .name = name}).out();
  }

  void add_codes(std::map<std::string, Value>& operands, const std::string& port, Value value) {
    const auto& [scale, zero_point] = readings_.at(value.node());
    operands[port] = codes(value);
    operands[port + "_scale"] = scale;
    operands[port + "_zero_point"] = zero_point;
  }

  void add_operand(std::map<std::string, Value>& operands, const QuantizedStep& step, int port) {
    const QuantInfo& quant = step.main.info().quant;
    const Value value = step.main.in(port);
    if (!value || port == quant.weight) return;
    const std::string& name = step.main.info().inputs[static_cast<size_t>(port)].name;
    if (is_number_port(quant, port)) {
      operands[name] = real(value);
    } else {
      add_codes(operands, name, value);
    }
  }

  void add_weight(std::map<std::string, Value>& operands, const QuantizedStep& step) {
    const ops::FakeQuantize& q = step.weight;
    Value scale = scale_of(q);
    if (operands["b"]) {
      const bool power_of_two = step.quantizer.requantize() == "power_of_two";
      scale = ops::raise_weight_scale(builder_, {.w_scale = scale,
                                                 .x_scale = operands["x_scale"],
                                                 .b = operands["b"],
                                                 .power_of_two = power_of_two,
                                                 .name = q.name() + ".scale"})
                  .out();
    }
    operands["w"] = quantize(q, real(q.x()), scale, q.name());
    operands["w_scale"] = scale;
  }

  Attributes attributes_of(const QuantizedStep& step, const CodedForm& form) const {
    Attributes attributes = form.attributes;  // first, because a quantizer also has an axis
    for (const auto& [key, value] : step.quantizer.attributes()) {
      if (form.target->attribute(key) != nullptr) attributes.emplace(key, value);
    }
    if (step.is_lookup()) {
      attributes["x_code_min"] = quantizer_of(step.main.in(0)).code_min();
      attributes["x_code_max"] = quantizer_of(step.main.in(0)).code_max();
    }
    attributes["is_test"] = !training_;
    if (const Value scale = scale_tensor(step.quantizer);
        training_ && scale.is_tensor() && scale.role() != Role::parameter)
      attributes["gradient_scale"] = 0.0;  // the scale is not trained
    return attributes;
  }

  /// Adds the derived integers as values, so that they can be fetched.
  void show_parameters(const QuantizedStep& step, const std::map<std::string, Value>& operands) {
    ops::RequantizationParameters::Args args{.x_scale = operands.at("x_scale"),
                                             .w_scale = operands.at("w_scale"),
                                             .y_scale = operands.at("y_scale"),
                                             .channels = operands.at("w").dims()[0],
                                             .activation = step.activation_name(),
                                             .alpha = step.alpha(),
                                             .requantize = step.quantizer.requantize(),
                                             .multiplier_bits = step.quantizer.multiplier_bits(),
                                             .name = step.name() + ".parameters"};
    if (const auto b = operands.find("b"); b != operands.end()) args.b = b->second;
    ops::requantization_parameters(builder_, args);
  }

  /// Whether the reader of a value before its quantizer needs only the extremes, or is the quantizer.
  static bool needs_extremes(const std::pair<Op, int>& use) {
    if (!has_trait(use.first, Trait::observer)) return has_trait(use.first, Trait::quantizer);
    const ops::ObserveRange observer(use.first.node());
    return observer.is_test() || (observer.method() == "minmax" && observer.reach() == 0);
  }

  /// Value that observers read instead of the value before its quantizer: all of it in float32, or enough for its
  /// extremes.
  struct Seen {
    Value real;
    bool are_extremes = false;
  };

  /// Stores the value that observers read before the quantizer, with the activation applied.
  void keep_real(const QuantizedStep& step, Op op, const std::map<std::string, Value>& operands) {
    const Value value = step.quantizer.x();
    const auto live = [](const auto& use) {
      return has_trait(use.first, Trait::observer) && !ops::ObserveRange(use.first.node()).is_test();
    };
    const auto uses = value.uses();
    if (std::none_of(uses.begin(), uses.end(), live)) return;
    const bool extremes_do = !is_output(value) && std::all_of(uses.begin(), uses.end(), needs_extremes);
    const Seen seen = step.weight        ? accumulators(step, op, operands, extremes_do)
                      : step.is_lookup() ? table(step, op, operands, extremes_do)
                                         : result(step, op);
    if (!seen.are_extremes) return set_real(value, seen.real);
    extremes_.emplace(value.node(), seen.real);
  }

  Seen accumulators(const QuantizedStep& step, Op op, const std::map<std::string, Value>& operands, bool extremes_do) {
    const bool are_extremes = extremes_do && step.alpha() >= 0;
    const Value acc = op.out(op.info().output(are_extremes ? "extremes" : "acc"));
    return {ops::dequantize_accumulator(builder_, {.acc = acc,
                                                   .x_scale = operands.at("x_scale"),
                                                   .w_scale = operands.at("w_scale"),
                                                   .activation = step.activation_name(),
                                                   .alpha = step.alpha(),
                                                   .name = step.name() + ".real"})
                .out(),
            are_extremes};
  }

  Seen table(const QuantizedStep& step, Op op, const std::map<std::string, Value>& operands, bool extremes_do) {
    Value x = operands.at("x");
    const bool are_extremes = extremes_do && size_of(x.dtype()) == 1;
    if (are_extremes) x = ops::distinct_codes(builder_, {.x = x, .name = step.name() + ".distinct"}).out();
    const OpInfo& target = ops::LookupReal::record();
    Attributes attributes;
    for (const auto& [key, value] : op.attributes()) {
      if (target.attribute(key) != nullptr) attributes.emplace(key, value);
    }
    const Op real = builder_.insert({&target,
                                     {x, operands.at("x_scale"), operands.at("x_zero_point")},
                                     std::move(attributes),
                                     step.name() + ".real",
                                     {}});
    return {real.out(0), are_extremes};
  }

  Seen result(const QuantizedStep& step, Op op) {
    const Value real = op.out(op.info().output("real"));
    if (!step.activation) return {real};
    const Op& activation = step.activation;
    return {
        builder_
            .insert({&activation.info(), {real}, activation.attributes(), step.name() + ".real", activation.location()})
            .out(0)};
  }

  Model rebuilt(const Model& region) override { return Lowering(region, training_).run(); }

  /// Returns the value that an observer reads.
  Value observed(Value old) {
    if (!old) return {};
    const auto extremes = extremes_.find(old.node());
    return extremes != extremes_.end() ? extremes->second : real(old);
  }

  void observe(const ops::ObserveRange& observer) {
    if (observer.is_test()) return;
    OpSpec spec{&observer.info(), {}, observer.attributes(), observer.name(), observer.location()};
    for (const Value operand : observer.operands()) spec.operands.push_back(observed(operand));
    builder_.insert(std::move(spec));
  }

  /// Copies tensors and operators on scales on demand.
  Value real_of_source(Value old) override {
    if (old.is_tensor()) {
      result_.tensors[old.name()] = source_.tensors.at(old.name());
      return graph().add_tensor(old.name(), old.type(), old.role());
    }
    return copied(old.producer()).out(old.port());
  }

  Value scale_of(const ops::FakeQuantize& q) { return real(q.scale()); }

  bool training_;
  std::map<const detail::ValueNode*, Reading> readings_;
  std::map<const detail::ValueNode*, Value> extremes_;  ///< replacement of values that observers read
};

}  // namespace

Model quantized_patterns(const Model& model, bool training) { return Lowering(model, training).run(); }

}  // namespace halfstep::passes
