#include "halfstep/quant/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/metadata/code_formats.h"
#include "halfstep/core/ir/metadata/table_origin.h"
#include "halfstep/passes/graph/resampling.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/quantized/coded_form.h"
#include "halfstep/passes/quantized/coded_rebuild.h"
#include "halfstep/passes/quantized/compared_codes.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/convert/errors.h"
#include "halfstep/quant/convert/integer_tensors.h"
#include "halfstep/quant/convert/lookup_table.h"
#include "halfstep/quant/convert/normalizing_numbers.h"
#include "halfstep/quant/convert/stored_factors.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

using passes::QuantizedStep;
using passes::StepKind;

/// Results collected while a network and its regions are converted.
struct Findings {
  std::vector<AccumulatorProof> proofs;
  std::vector<Diagnostic> objections;
  CodeFormats formats;
  std::map<std::string, TableOrigin> tables;
  std::set<std::string> unseen;  ///< scales of uncalibrated observers, possibly outside of the current region
};

/// Converts a network, or a region of it, to an integer program.
class Converter final : passes::CodedRebuild {
 public:
  Converter(const Model& source, Findings& found) : CodedRebuild(source), found_(found) {}

  Model run() {
    const auto steps = passes::quantized_steps(source_);
    for (const QuantizedStep& step : steps) {
      const Op op = step.main ? step.main : step.quantizer;
      if (!step.quantizer) {
        convert_step(step);
      } else if (!collect(found_.objections, op.name(), op.where(), [&] { convert_step(step); })) {
        stand_in(step);
      }
    }
    add_remedy(found_.objections, "recalibrate, or keep the layer in float (--skip-layers NAME)");
    fail_on_any(std::move(found_.objections));
    finish_network();
    note_formats(steps);
    return std::move(result_);
  }

 private:
  Model rebuilt(const Model& region) override { return Converter(region, found_).run(); }

  /// Represents the result of a refused step by an argument with codes, so that errors in later steps are found too.
  void stand_in(const QuantizedStep& step) {
    const Value result = step.result();
    set_codes(result, passes::add_argument(graph(), step.name() + ".refused",
                                           {*parse_dtype(step.quantizer.code_type()), result.dims()}));
    formats_[result.node()] = format_of(step.quantizer);
  }

  void note_formats(const std::vector<QuantizedStep>& steps) {
    for (const QuantizedStep& step : steps) {
      const auto format = formats_.find(step.result().node());
      if (format == formats_.end()) continue;
      const CodeFormat& codes = format->second;
      found_.formats[step.name()] = {codes.scale, codes.zero_point, codes.code_min, codes.code_max};
    }
  }

  const Tensor& source_tensor(Value value) const { return passes::contents_of(source_, value); }

  Value add_tensor(const std::string& name, Role role, Tensor contents) {
    return passes::add_tensor(result_, name, std::move(contents), role);
  }

  CodeFormat format_of(const ops::FakeQuantize& q) const {
    if (found_.unseen.contains(passes::scale_tensor(q).name())) fail(errors::quantizer_uncalibrated(q.where()));
    const float scale = effective_scale(source_, q);
    if (!(scale > 0) || !std::isfinite(scale))
      fail(errors::quantizer_scale_not_positive(q.where(), fmt::format("{}", scale)));
    return {scale, source_tensor(q.zero_point()).data<int32_t>()[0], static_cast<int32_t>(q.code_min()),
            static_cast<int32_t>(q.code_max())};
  }

  void convert_step(const QuantizedStep& step) {
    builder_.at(step.main ? step.main.location() : step.quantizer.location());
    switch (step.kind) {
      case StepKind::input: return convert_input(step);
      case StepKind::move:
      case StepKind::rank: return rebuild_move(step);
      case StepKind::rescale: return convert_rescale(step);
      case StepKind::real: return convert_real(step.main);
      case StepKind::compute:
        if (step.is_lookup()) return convert_lookup(step);
        if (step.weight) return convert_weighted(step);
        if (step.main.info().quant.trait == Trait::normalizes) return convert_normalizing(step);
        return convert_accumulating(step);
    }
  }

  /// Compares codes where the real values of an operator are those of codes and a stored number.
  void convert_real(Op op) {
    const auto compared = passes::compared_codes(source_, op);
    if (!compared || !has_codes(compared->value)) return rebuild_real(op);
    const CodeFormat& x = formats_.at(compared->value.node());
    const auto on_codes = passes::on_codes(op, *compared, x.scale, x.zero_point, x.code_min, x.code_max);
    if (!on_codes) return rebuild_real(op);
    Tensor code(codes(compared->value).dtype(), op.in(compared->is_second ? 0 : 1).dims());
    set_element(code, 0, on_codes->code);
    const Value number = add_tensor(op.name() + ".code", Role::constant, std::move(code));
    const Op made = builder_.insert({on_codes->info, {codes(compared->value), number}, {}, op.name(), op.location()});
    set_real(op.out(0), made.out(0));
  }

  Value scale_constant(const std::string& name, const CodeFormat& format) {
    return add_tensor(name + ".scale", Role::constant, Tensor::scalar(format.scale));
  }
  Value zero_point_constant(const std::string& name, const CodeFormat& format) {
    return add_tensor(name + ".zero_point", Role::constant, Tensor::scalar(format.zero_point));
  }

  void convert_input(const QuantizedStep& step) {
    const ops::FakeQuantize& q = step.quantizer;
    const CodeFormat format = format_of(q);
    if (q.x().is_tensor()) return convert_stored(q, format);
    const auto op = ops::quantize(builder_, {.x = real(q.x()),
                                             .scale = scale_constant(q.name(), format),
                                             .zero_point = zero_point_constant(q.name(), format),
                                             .code_min = q.code_min(),
                                             .code_max = q.code_max(),
                                             .code_type = q.code_type(),
                                             .method = q.method(),
                                             .rounding = q.rounding(),
                                             .name = q.name()});
    set_codes(q.out(), op.out());
    formats_[q.out().node()] = format;
  }

  /// Stores the codes of a tensor in the program, and an identity that returns them.
  void convert_stored(const ops::FakeQuantize& q, const CodeFormat& format) {
    Tensor contents = stored_codes(source_tensor(q.x()), format, code_rule(q), *parse_dtype(q.code_type()));
    const Value stored = add_tensor(q.name() + ".codes", Role::constant, std::move(contents));
    set_codes(q.out(), ops::identity(builder_, {.x = stored, .name = q.name()}).out());
    formats_[q.out().node()] = format;
  }

  /// For a quantized tensor that a float operator reads: the real values of its codes.
  Value real_of_source(Value old) override {
    if (old.is_tensor()) return add_tensor(old.name(), old.role(), source_tensor(old));
    const ops::FakeQuantize quantizer = passes::quantizer_of(old);
    return add_tensor(old.name(), Role::parameter, quantized_floats(quantizer));
  }

  Tensor quantized_floats(const ops::FakeQuantize& q) const {
    const Tensor& x = source_tensor(q.x());
    const auto zero_points = source_tensor(q.zero_point()).data<int32_t>();
    const auto rule = code_rule(q);
    Tensor result = Tensor::uninitialized(DType::f32, x.dims());
    const auto from = x.data<float>();
    const auto to = result.data<float>();
    const int64_t axis = std::max<int64_t>(q.axis(), 0);
    const int64_t channels = static_cast<int64_t>(zero_points.size());
    const auto run = count_elements(std::span(x.dims()).subspan(static_cast<size_t>(axis) + (channels > 1 ? 1 : 0)));
    for (size_t i = 0; i < from.size(); ++i) {
      const auto c = channels == 1 ? size_t{0} : static_cast<size_t>(static_cast<int64_t>(i) / run % channels);
      const float scale = effective_scale(source_, q, c);
      const int32_t code = arith::code_of(from[i], scale, zero_points[c], rule);
      to[i] = static_cast<float>(code - zero_points[c]) * scale;
    }
    return result;
  }

  Value dequantize(Value old, const std::string& name) override {
    const CodeFormat& format = formats_.at(old.node());
    return ops::dequantize(builder_, {.x = codes(old),
                                      .scale = scale_constant(name, format),
                                      .zero_point = zero_point_constant(name, format),
                                      .name = name})
        .out();
  }

  Value code_of_fill(Value fill, Value source, const std::string& name) override {
    const CodeFormat& format = formats_.at(source.node());
    const auto real = fill ? static_cast<float>(element(source_tensor(fill), 0)) : 0.0F;
    const auto rule = code_rule(passes::quantizer_of(source));
    Tensor code(codes(source).dtype(), fill ? fill.dims() : Dims{1});
    set_element(code, 0, arith::code_of(real, format.scale, format.zero_point, rule));
    return add_tensor(name, Role::constant, code);
  }

  void read_alike(Value moved, Value source) override { formats_[moved.node()] = formats_.at(source.node()); }

  /// Attributes of every integer operator whose result has codes.
  Attributes output_attributes(const QuantizedStep& step, const CodeFormat& y) const {
    const auto clamp = rule_of(step, y).clamp(y.scale, y.zero_point);
    return {{"y_zero_point", int64_t{y.zero_point}},
            {"code_min", int64_t{clamp.low}},
            {"code_max", int64_t{clamp.high}},
            {"code_type", step.quantizer.code_type()},
            {"shift_rounding", step.quantizer.shift_rounding()}};
  }

  void finish(const QuantizedStep& step, const OpInfo& info, const std::map<std::string, Value>& operands,
              const Attributes& attributes, const CodeFormat& format) {
    const Op op = builder_.insert(
        {&info, passes::arrange_operands(info, operands, step.quantizer.where()), attributes, step.name(), {}});
    set_codes(step.result(), op.out(0));
    formats_[step.result().node()] = format;
  }

  const OpInfo& integer_operator(const QuantizedStep& step) const {
    return require_operator(step.main.info().quant.integer, step.main.where());
  }

  void convert_weighted(const QuantizedStep& step) {
    const Value x = step.coded_inputs().front();
    const CodeFormat& x_format = formats_.at(x.node());
    const CodeFormat y = format_of(step.quantizer);
    const IntegerTensors tensors = integer_tensors(weighted_layer(step, x_format, y));
    found_.proofs.push_back({step.name(), tensors.accumulator_bound, arith::kMostInInt32});

    std::map<std::string, Value> operands = {{"x", codes(x)}};
    operands["w"] = add_tensor(step.name() + ".w", Role::parameter, tensors.w);
    operands["b"] = add_tensor(step.name() + ".b", Role::parameter, tensors.b);
    const auto add_optional = [&](const std::string& port, const Tensor& tensor) {
      if (tensor.defined()) operands[port] = add_tensor(step.name() + "." + port, Role::parameter, tensor);
    };
    add_optional("shift", tensors.shift);
    add_optional("multiplier", tensors.multiplier);
    add_optional("negative_shift", tensors.negative_shift);
    add_optional("negative_multiplier", tensors.negative_multiplier);
    add_optional("w_scale", tensors.w_scale);

    Attributes attributes = step.main.attributes();
    attributes.merge(output_attributes(step, y));
    attributes["x_zero_point"] = int64_t{x_format.zero_point};
    attributes["requantize"] = step.quantizer.requantize();
    if (keeps_scales(step)) set_scales(attributes, {{"x_scale", x_format.scale}, {"y_scale", y.scale}});
    finish(step, integer_operator(step), operands, attributes, y);
  }

  WeightedLayer weighted_layer(const QuantizedStep& step, const CodeFormat& x, const CodeFormat& y) const {
    WeightedLayer layer;
    layer.where = step.main.where();
    layer.w = source_tensor(step.weight.x());
    if (const Value bias = step.main.in(step.main.info().quant.bias)) layer.b = source_tensor(bias);
    layer.w_scale = source_tensor(passes::scale_tensor(step.weight)).clone();
    const auto scales = layer.w_scale.data<float>();
    for (size_t c = 0; c < scales.size(); ++c) scales[c] = effective_scale(source_, step.weight, c);
    layer.weights = code_rule(step.weight);
    layer.code_type = *parse_dtype(step.weight.code_type());
    layer.x = x;
    layer.y = y;
    layer.rule = rule_of(step, y);
    return layer;
  }

  /// Converts operators without weights. They have one factor, or two for a sum.
  void convert_accumulating(const QuantizedStep& step) {
    const OpInfo& info = integer_operator(step);
    const CodeFormat y = format_of(step.quantizer);
    const std::vector<Value> inputs = step.coded_inputs();
    std::map<std::string, Value> operands;
    Attributes attributes = step.main.attributes();
    attributes.merge(output_attributes(step, y));
    std::vector<int64_t> farthest;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const CodeFormat& format = formats_.at(inputs[i].node());
      operands[info.inputs[i].name] = codes(inputs[i]);
      attributes[info.inputs[i].name + "_zero_point"] = int64_t{format.zero_point};
      farthest.push_back(arith::farthest_step(format.code_min, format.code_max, format.zero_point));
    }
    found_.proofs.push_back(accumulator_proof(step.main, form_of(step), farthest));
    if (const auto window = passes::global_window(step.main)) attributes["kernel"] = attributes["stride"] = *window;
    set_factors(step, attributes, y);
    if (keeps_scales(step)) {
      for (size_t i = 0; i < inputs.size(); ++i)
        set_scales(attributes, {{info.inputs[i].name + "_scale", step.sign(i) * formats_.at(inputs[i].node()).scale}});
      set_scales(attributes, {{"y_scale", y.scale}});
      attributes["requantize"] = step.quantizer.requantize();
    }
    finish(step, info, operands, attributes, y);
  }

  /// Converts softmax and normalizations, which have their own parameters.
  void convert_normalizing(const QuantizedStep& step) {
    const Value x = step.coded_inputs().front();
    const CodeFormat& x_format = formats_.at(x.node());
    const CodeFormat y = format_of(step.quantizer);
    const bool is_norm = step.main.info().quant.factor >= 0;
    NormalizingNumbers numbers;
    require(step, is_norm ? norm_numbers(norm_of(step, x_format, y), numbers)
                          : softmax_numbers(rule_of(step, y), x_format, y, numbers));
    Attributes attributes = output_attributes(step, y);
    attributes.merge(numbers.attributes);
    std::map<std::string, Value> operands = {{"x", codes(x)}};
    for (const auto& [port, tensor] : numbers.tensors)
      operands[port] = add_tensor(step.name() + "." + port, Role::parameter, tensor);
    if (is_norm) {
      attributes["x_zero_point"] = int64_t{x_format.zero_point};
    } else {
      attributes.insert(step.main.attributes().begin(), step.main.attributes().end());
    }
    finish(step, integer_operator(step), operands, attributes, y);
  }

  NormLayer norm_of(const QuantizedStep& step, const CodeFormat& x, const CodeFormat& y) const {
    const QuantInfo& quant = step.main.info().quant;
    const Value bias = quant.bias < 0 ? Value() : step.main.in(quant.bias);
    return {source_tensor(step.main.in(quant.factor)),
            bias ? source_tensor(bias) : Tensor(),
            step.main.in(0).dims().back(),
            get<double>(step.main.attributes(), "epsilon"),
            x,
            y,
            codes(step.coded_inputs().front()).dtype(),
            step.main.is<ops::LayerNorm>()};
  }

  static arith::Requantization form_of(const QuantizedStep& step) {
    return *arith::parse_requantization(step.quantizer.requantize());
  }
  static bool keeps_scales(const QuantizedStep& step) { return arith::traits(form_of(step)).keeps_scales; }
  static arith::RequantizeRule rule_of(const QuantizedStep& step, const CodeFormat& y) {
    return {form_of(step),
            *arith::parse_activation(step.activation_name()),
            static_cast<int>(step.quantizer.multiplier_bits()),
            static_cast<int>(step.quantizer.average_bits()),
            step.alpha(),
            {y.code_min, y.code_max},
            *arith::parse_shift_rounding(step.quantizer.shift_rounding())};
  }

  /// Sets the factors of an operator without weights, if the form stores any.
  void set_factors(const QuantizedStep& step, Attributes& attributes, const CodeFormat& y) const {
    const std::vector<Value> inputs = step.coded_inputs();
    const auto format = [&](size_t i) -> const CodeFormat& { return formats_.at(inputs[i].node()); };
    const auto rule = rule_of(step, y);
    arith::Requantizer product;
    switch (step.main.info().quant.accumulates) {
      case Accumulation::window:
        return set_average_factors(step, attributes, *window_counts(step.main), format(0).scale, y);
      case Accumulation::sum: return set_sum_factors(step, attributes, format(0), format(1), y);
      case Accumulation::running:
        require(step, rule.for_rescale(format(0).scale, y.scale, product));
        return set_factor(attributes, product);
      case Accumulation::axes:
      case Accumulation::taps: {
        const auto weights = passes::average_weights(step.main);
        if (!weights) return set_divided_later(attributes, rule, format(0).scale, y.scale);
        require(step, rule.for_pool(format(0).scale, y.scale, weights->sum, product));
        return set_factor(attributes, product);
      }
      case Accumulation::product:
      case Accumulation::contraction:
        require(step, rule.for_product(format(0).scale, format(1).scale, y.scale, product));
        return set_factor(attributes, product);
      case Accumulation::none: HS_CHECK(false && "an accumulator without a record of its terms");
    }
  }

  /// Sets one factor for the whole window, and one for each element count of windows that an edge of x cuts.
  static void set_average_factors(const QuantizedStep& step, Attributes& attributes, const WindowCounts& counts,
                                  float x_scale, const CodeFormat& y) {
    std::vector<int64_t> multipliers, shifts;
    arith::Requantizer requantizer;
    for (const int64_t count : counts.cut) {
      require(step, rule_of(step, y).for_pool(x_scale, y.scale, count, requantizer));
      const auto* scale = std::get_if<arith::FixedScale>(&requantizer);
      if (scale == nullptr) continue;
      multipliers.push_back(scale->positive.m);
      shifts.push_back(scale->positive.shift);
    }
    require(step, rule_of(step, y).for_pool(x_scale, y.scale, counts.whole, requantizer));
    set_factor(attributes, requantizer);
    if (keeps_scales(step)) return;
    attributes["edge_counts"] = counts.cut;
    attributes["edge_multipliers"] = multipliers;
    attributes["edge_shifts"] = shifts;
  }

  static void set_sum_factors(const QuantizedStep& step, Attributes& attributes, const CodeFormat& a,
                              const CodeFormat& b, const CodeFormat& y) {
    arith::SumRequantizer requantizer;
    require(step, rule_of(step, y).for_sum({a.scale, step.sign(1) * b.scale, y.scale}, requantizer));
    const auto* sum = std::get_if<arith::FixedSum>(&requantizer);
    if (sum == nullptr) return;
    attributes["a_multiplier"] = int64_t{sum->factors.a};
    attributes["b_multiplier"] = int64_t{sum->factors.b};
    attributes["shift"] = int64_t{sum->factors.shift};
  }

  static void require(const QuantizedStep& step, const Status& status) {
    if (status.ok()) return;
    const bool windows =
        step.main.info().quant.accumulates == Accumulation::window && arith::traits(form_of(step)).powers_of_two;
    fail(placed(
        errors::layer_not_requantizable(step.quantizer.where(), status.message(), step.name(),
                                        windows ? " (a pooling window must then hold a power of two of elements)" : ""),
        step.name(), ""));
  }

  void convert_rescale(const QuantizedStep& step) {
    const Value x = step.quantizer.x();
    const CodeFormat& x_format = formats_.at(x.node());
    const CodeFormat y = format_of(step.quantizer);
    arith::Requantizer requantizer;
    require(step, rule_of(step, y).for_rescale(x_format.scale, y.scale, requantizer));
    if (keeps_scales(step))
      return finish_table(step, x, rescale_table(x_format, y, *parse_dtype(step.quantizer.code_type()), requantizer),
                          y);
    Attributes attributes = output_attributes(step, y);
    attributes["x_zero_point"] = int64_t{x_format.zero_point};
    set_factor(attributes, requantizer);
    finish(step, ops::IntegerRescale::record(), {{"x", codes(x)}}, attributes, y);
  }

  void convert_lookup(const QuantizedStep& step) {
    const Value x = step.main.in(0);
    const CodeFormat& x_format = formats_.at(x.node());
    const CodeFormat y = format_of(step.quantizer);
    const DType type = *parse_dtype(step.quantizer.code_type());
    finish_table(step, x, lookup_table(step.main, x_format, y, type), y);
    const bool has_alpha = step.main.info().attribute("alpha") != nullptr;
    found_.tables[step.name()] = {step.main.info().name,
                                  has_alpha ? get<double>(step.main.attributes(), "alpha") : 0.0,
                                  x_format.scale,
                                  x_format.zero_point,
                                  y.scale,
                                  y.zero_point};
  }

  void finish_table(const QuantizedStep& step, Value x, Tensor contents, const CodeFormat& y) {
    const Value table = add_tensor(step.name() + ".table", Role::parameter, std::move(contents));
    finish(step, ops::IntegerLookup::record(), {{"x", codes(x)}, {"table", table}},
           {{"x_code_min", int64_t{formats_.at(x.node()).code_min}}, {"code_type", step.quantizer.code_type()}}, y);
  }

  std::map<const detail::ValueNode*, CodeFormat> formats_;  ///< by value of the source that has codes
  Findings& found_;
};

std::set<std::string> unseen_scales(const Model& prepared) {
  std::set<std::string> unseen;
  const auto first = [&](Value tensor) { return passes::contents_of(prepared, tensor).data<float>()[0]; };
  for (const auto& observer : prepared.graph.all<ops::ObserveRange>()) {
    if (first(observer.low()) > first(observer.high())) unseen.insert(observer.scale().name());
  }
  return unseen;
}

}  // namespace

Conversion convert(const Model& prepared, const ConvertOptions& options) {
  require_integers(prepared, options);
  Model evaluated = prepared;
  passes::set_mode(evaluated.graph, passes::Mode::evaluation);
  passes::close_learned_parts(evaluated);
  require_activations(evaluated);
  Findings found;
  found.unseen = unseen_scales(evaluated);
  Conversion conversion{Converter(evaluated, found).run(), {}, {}};
  conversion.proofs = std::move(found.proofs);
  Metadata& metadata = conversion.model.metadata;
  metadata.stage = Stage::integer;
  metadata.code_formats = std::move(found.formats);
  metadata.tables = std::move(found.tables);
  conversion.fallbacks = float_fallback(conversion.model);
  HS_CHECK(stage_of_graph(conversion.model.graph, true) == Stage::integer);
  require_program(conversion.model);
  return conversion;
}

}  // namespace halfstep::quant
