#include "halfstep/passes/quantized_patterns.h"

#include <algorithm>
#include <map>

#include "halfstep/base/status.h"
#include "halfstep/passes/coded_form.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/passes/traits.h"
#include "halfstep/passes/uses.h"

namespace halfstep::passes {
namespace {

/// A value as codes, with the scale and zero point that read them.
struct Codes {
  Value codes, scale, zero_point;
};

class Lowering {
 public:
  Lowering(const Model& source, bool training)
      : source_(source), training_(training || has_live_observers(source.graph)) {
    result_.notes = source.notes;
    result_.graph.set_name(source.graph.name());
  }

  Model run() {
    for (const Value argument : source_.graph.arguments())
      floats_[argument.node()] = graph().add_argument(argument.name(), argument.type());
    for (const QuantizedStep& step : quantized_steps(source_)) lower(step);
    for (const ops::ObserveRange& observer : source_.graph.all<ops::ObserveRange>()) observe(observer);
    lower_outputs();
    for (const auto& [value, codes] : codes_) expect_extents(*value, codes.codes);
    for (const auto& [value, real] : floats_) expect_extents(*value, real);
    return std::move(result_);
  }

 private:
  static bool has_live_observers(const Graph& graph) {
    const auto observers = graph.all<ops::ObserveRange>();
    return std::any_of(observers.begin(), observers.end(), [](const ops::ObserveRange& o) { return !o.is_test(); });
  }

  Graph& graph() { return result_.graph; }

  void lower(const QuantizedStep& step) {
    builder_.at(step.main ? step.main.location() : step.quantizer.location());
    switch (step.kind) {
      case StepKind::input: return lower_input(step);
      case StepKind::move: return lower_move(step);
      case StepKind::real: return lower_real(step.main);
      case StepKind::compute:
      case StepKind::rescale: return lower_compute(step);
    }
  }

  void lower_input(const QuantizedStep& step) {
    const ops::FakeQuantize& q = step.quantizer;
    codes_[q.out().node()] = quantize(q, floating(q.x()), scale_of(q), q.name());
  }

  Codes quantize(const ops::FakeQuantize& q, Value x, Value scale, const std::string& name) {
    const Value zero_point = floating(q.zero_point());
    const auto op = ops::quantize(builder_, {.x = x,
                                             .scale = scale,
                                             .zero_point = zero_point,
                                             .axis = q.axis(),
                                             .code_min = q.code_min(),
                                             .code_max = q.code_max(),
                                             .code_type = q.code_type(),
                                             .method = q.method(),
                                             .rounding = q.rounding(),
                                             .gradient_scale = q.gradient_scale(),
                                             .name = name});
    return {op.out(), scale, zero_point};
  }

  void lower_move(const QuantizedStep& step) {
    const Value source = step.coded_inputs().front();
    const Codes first = codes_.at(source.node());
    OpSpec spec{&step.main.info(), {}, step.main.attributes(), step.main.name(), step.main.location()};
    const auto operands = step.main.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool fills = step.main.port_of(static_cast<int>(i)) == step.main.info().quant.fill;
      spec.operands.push_back(fills ? code_of_fill(operands[i], source, step) : codes_.at(operands[i].node()).codes);
    }
    codes_[step.result().node()] = {builder_.insert(std::move(spec)).out(0), first.scale, first.zero_point};
  }

  /// What fills empty places among the codes of `source`: the code of `fill`, or of 0 where it is absent.
  Value code_of_fill(Value fill, Value source, const QuantizedStep& step) {
    const Codes& codes = codes_.at(source.node());
    if (fill) return quantize(quantizer_of(source), floating(fill), codes.scale, step.name() + ".fill").codes;
    const auto type = std::string(name(codes.codes.dtype()));
    return ops::cast(builder_, {.x = codes.zero_point, .to = type, .name = step.name() + ".fill"}).out();
  }

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
    operands["y_zero_point"] = floating(step.quantizer.zero_point());

    const Op op = builder_.insert({form.target,
                                   arrange_operands(*form.target, operands, step.quantizer.where()),
                                   attributes_of(step, form),
                                   step.name(),
                                   {}});
    codes_[step.result().node()] = {op.out(0), operands["y_scale"], operands["y_zero_point"]};
    if (training_) {
      keep_real(step, op, operands);
    } else if (step.weight) {
      show_parameters(step, operands);
    }
  }

  void lower_real(Op op) {
    OpSpec spec{&op.info(), {}, op.attributes(), op.name(), op.location()};
    for (const Value operand : op.operands()) spec.operands.push_back(operand ? real(operand) : Value());
    const Op copy = builder_.insert(std::move(spec));
    for (const Value result : op.results()) floats_[result.node()] = copy.out(result.port());
  }

  /// A value as a real operator reads it: codes are dequantized, once.
  Value real(Value old) {
    const auto found = codes_.find(old.node());
    if (found == codes_.end()) return floating(old);
    Value& real = floats_[old.node()];
    if (!real) {
      const auto& [codes, scale, zero_point] = found->second;
      real = ops::dequantize(builder_,
                             {.x = codes, .scale = scale, .zero_point = zero_point, .name = old.name() + ".real"})
                 .out();
    }
    return real;
  }

  void add_codes(std::map<std::string, Value>& operands, const std::string& port, Value value) {
    const Codes& codes = codes_.at(value.node());
    operands[port] = codes.codes;
    operands[port + "_scale"] = codes.scale;
    operands[port + "_zero_point"] = codes.zero_point;
  }

  void add_operand(std::map<std::string, Value>& operands, const QuantizedStep& step, int port) {
    const QuantInfo& quant = step.main.info().quant;
    const Value value = step.main.in(port);
    if (!value || port == quant.weight) return;
    if (port == quant.bias) {
      operands["b"] = floating(value);
    } else {
      add_codes(operands, step.main.info().inputs[static_cast<size_t>(port)].name, value);
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
    operands["w"] = quantize(q, floating(q.x()), scale, q.name()).codes;
    operands["w_scale"] = scale;
  }

  Attributes attributes_of(const QuantizedStep& step, const CodedForm& form) const {
    Attributes attributes = form.attributes;
    for (const auto& [key, value] : step.quantizer.attributes()) {
      if (form.target->attribute(key) != nullptr) attributes[key] = value;
    }
    if (step.is_lookup()) {
      attributes["x_code_min"] = quantizer_of(step.main.in(0)).code_min();
      attributes["x_code_max"] = quantizer_of(step.main.in(0)).code_max();
    }
    attributes["is_test"] = !training_;
    if (const Value scale = scale_tensor(step.quantizer);
        training_ && scale.is_tensor() && scale.role() != Role::parameter)
      attributes["gradient_scale"] = 0.0;  // nothing moves it
    return attributes;
  }

  /// The quantizer whose codes `value` has.
  static ops::FakeQuantize quantizer_of(Value value) { return ops::FakeQuantize(unmoved(value).producer().node()); }

  /// The derived integers as values, for whoever fetches them.
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

  /// Remembers how observers see the value before the quantizer: the accumulator, or the real result, with the
  /// activation applied.
  void keep_real(const QuantizedStep& step, Op op, const std::map<std::string, Value>& operands) {
    const Value seen = step.quantizer.x();
    const auto live = [](const auto& use) {
      return has_trait(use.first, Trait::observer) && !ops::ObserveRange(use.first.node()).is_test();
    };
    const auto uses = seen.uses();
    if (std::none_of(uses.begin(), uses.end(), live)) return;
    const std::string name = step.name() + ".real";
    if (step.weight) {
      floats_[seen.node()] = ops::dequantize_accumulator(builder_, {.acc = op.out(1),
                                                                    .x_scale = operands.at("x_scale"),
                                                                    .w_scale = operands.at("w_scale"),
                                                                    .activation = step.activation_name(),
                                                                    .alpha = step.alpha(),
                                                                    .name = name})
                                 .out();
      return;
    }
    Value real = op.out(op.info().output("real"));
    if (step.activation)
      real =
          builder_
              .insert({&step.activation.info(), {real}, step.activation.attributes(), name, step.activation.location()})
              .out(0);
    floats_[seen.node()] = real;
  }

  void observe(const ops::ObserveRange& observer) {
    if (observer.is_test()) return;
    OpSpec spec{&observer.info(), {}, observer.attributes(), observer.name(), observer.location()};
    for (const Value operand : observer.operands()) spec.operands.push_back(floating(operand));
    builder_.insert(std::move(spec));
  }

  /// The new graph's value for a float value of the old one: tensors and operators on scales are copied on demand.
  Value floating(Value old) {
    if (const auto found = floats_.find(old.node()); found != floats_.end()) return found->second;
    if (old.is_tensor()) {
      result_.tensors[old.name()] = source_.tensors.at(old.name());
      return floats_[old.node()] = graph().add_tensor(old.name(), old.type(), old.role());
    }
    const Op op = old.producer();
    OpSpec spec{&op.info(), {}, op.attributes(), op.name(), op.location()};
    for (const Value operand : op.operands()) spec.operands.push_back(floating(operand));
    return floats_[old.node()] = builder_.insert(std::move(spec)).out(old.port());
  }

  Value scale_of(const ops::FakeQuantize& q) { return floating(q.scale()); }

  void lower_outputs() {
    std::vector<Value> outputs;
    for (const Value old : source_.graph.outputs()) outputs.push_back(real(old));
    graph().set_outputs(outputs, source_.graph.body().output_names());
  }

  const Model& source_;
  bool training_;
  Model result_;
  Builder builder_{result_.graph};
  std::map<const detail::ValueNode*, Codes> codes_;
  std::map<const detail::ValueNode*, Value> floats_;
};

}  // namespace

Model quantized_patterns(const Model& model, bool training) { return Lowering(model, training).run(); }

}  // namespace halfstep::passes
