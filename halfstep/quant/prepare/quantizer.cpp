#include "halfstep/quant/prepare/quantizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/arith/observation.h"
#include "halfstep/core/arith/range.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/platform/observers.h"
#include "halfstep/quant/prepare/errors.h"

namespace halfstep::quant {
namespace {

struct CodeRange {
  int64_t min, max;
  std::string type;
};

/// Sign and zero points of a quantizer on a target.
struct Style {
  bool is_signed;
  std::string zero_points;
};

Style style_of(const Platform& platform, bool weight, bool is_unsigned) {
  if (weight) return {platform.weight_zero_points != "affine", platform.weight_zero_points};
  if (is_unsigned) return {false, "affine"};
  return {platform.signed_activations, platform.activation_zero_points};
}

/// Symmetric codes omit the lowest code.
CodeRange code_range(const Style& style, bool weight, int bits) {
  const int64_t max = (int64_t{1} << (bits - 1)) - 1;
  if (!style.is_signed) return {0, (int64_t{1} << bits) - 1, bits <= 8 ? "u8" : "u16"};
  const char* type = weight && bits <= 4 ? "i4" : bits <= 8 ? "i8" : "i16";
  return {style.zero_points == "symmetric" ? -max : -max - 1, max, type};
}

/// The step size gradient scale of LSQ, 1 / sqrt(elements * largest code) (Esser et al., ICLR 2020, section 2.2).
/// Elements are those of one sample or channel.
double gradient_scale(const ops::FakeQuantize& quantizer, const CodeRange& codes) {
  const Dims& dims = quantizer.x().dims();
  double elements = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool shared = is_weight(quantizer) ? static_cast<int64_t>(axis) == quantizer.axis() : axis == 0;
    if (!shared && dims[axis] > 0) elements *= static_cast<double>(dims[axis]);
  }
  return 1.0 / std::sqrt(elements * static_cast<double>(codes.max));
}

/// All quantizers that read `scale`, directly or after its rounding to a power of two.
std::vector<ops::FakeQuantize> readers_of(Value scale) {
  std::vector<ops::FakeQuantize> readers;
  for (const auto& [user, operand] : scale.uses()) {
    if (user.is<ops::FakeQuantize>()) readers.emplace_back(user.node());
    if (!user.is<ops::PowerOfTwoScale>()) continue;
    const auto rounded = readers_of(user.out(0));
    readers.insert(readers.end(), rounded.begin(), rounded.end());
  }
  return readers;
}

/// A learned power-of-two scale is rounded between its tensor and the quantizer. Any other scale is read directly.
void wire_scale(Graph& graph, const ops::FakeQuantize& quantizer, Value tensor, bool rounded) {
  const Value now = quantizer.scale();
  const auto rounding = now.producer<ops::PowerOfTwoScale>();
  if (rounded == rounding.has_value()) return;
  const int port = quantizer.info().input("scale");
  if (rounded) {
    Builder builder = Builder::before(graph, quantizer);
    quantizer.set_operand(
        port, ops::power_of_two_scale(builder, {.scale = tensor, .name = quantizer.name() + ".power"}).out());
    return;
  }
  quantizer.set_operand(port, tensor);
  if (rounding->out().unused()) graph.erase(*rounding);
}

/// Connects a tensor for the statistics that the observer's method accumulates in addition to the range.
void wire_statistics(Model& model, const ops::ObserveRange& observer, int64_t count) {
  const int port = observer.info().input("seen");
  const Value seen = observer.in(port);
  const int64_t channels = observer.low().dims()[0];
  if (seen) {
    if (seen.dims()[1] == count) return;
    observer.set_operand(port, {});
  }
  if (count == 0) return;
  const std::string suffix = "." + std::to_string(count);  // another method may have created a tensor without this
                                                           // suffix
  const std::string name = observer.name() + ".seen" + suffix;
  const Value known = model.graph.tensor(name);
  observer.set_operand(
      port, known ? known : passes::add_tensor(model, name, Tensor(DType::f64, {channels, count}), Role::state));
}

void configure_observer(Model& model, const ops::ObserveRange& observer, const Platform& platform, const Style& style,
                        const CodeRange& codes, bool weight, bool low_bits) {
  const std::string& usual = weight ? platform.weight_observer : platform.activation_observer;
  const bool is_other = low_bits && !platform.low_bits_observer.empty();
  const std::string& asked = is_other ? platform.low_bits_observer : usual;
  Attributes attributes =
      observer_attributes(is_in_region(observer) ? over_all(asked) : asked, platform.observer_numbers, weight);
  wire_statistics(model, observer, std::get<int64_t>(attributes.at("statistics")));
  attributes.insert({{"rate", weight ? 1.0 : platform.rate},
                     {"code_min", codes.min},
                     {"code_max", codes.max},
                     {"zero_points", style.zero_points},
                     {"power_of_two", platform.power_of_two}});
  observer.set_attributes(attributes);
}

/// Computes scale and zero point of each channel from the observer's state. Channels without observations do not
/// change.
void derive_parameters(Model& model, const ops::ObserveRange& observer) {
  const arith::ObserverRule rule{
      *arith::parse_observing(observer.method()),
      {static_cast<int32_t>(observer.code_min()), static_cast<int32_t>(observer.code_max()),
       *arith::parse_zero_points(observer.zero_points()), observer.power_of_two(), observer.nearest_power()},
      observer.share()};
  const auto low = passes::contents_of(model, observer.low()).data<float>();
  const auto high = passes::contents_of(model, observer.high()).data<float>();
  std::span<const double> seen;
  if (observer.statistics() > 0) seen = passes::contents_of(model, observer.seen()).data<double>();
  const auto scale = passes::own_contents(model, observer.scale().name()).data<float>();
  const auto zero_point = passes::own_contents(model, observer.zero_point().name()).data<int32_t>();
  if (scale.empty()) return;
  const size_t kept = seen.size() / scale.size();
  for (size_t c = 0; c < scale.size(); ++c) {
    if (low[c] > high[c]) continue;
    const auto parameters = arith::observed_parameters(low[c], high[c], seen.subspan(c * kept, kept), rule);
    scale[c] = parameters.scale;
    zero_point[c] = parameters.zero_point;
  }
}

Tensor filled(int64_t count, float with) {
  Tensor tensor(DType::f32, {count});
  for (float& element : tensor.data<float>()) element = with;
  return tensor;
}

/// The last of `nodes` in graph order. Values with a shared scale can have any order.
Op last_of(const Graph& graph, const std::set<detail::OpNode*>& nodes) {
  if (nodes.size() == 1)
    return Op(*nodes.begin());  // usual case, because a search for each quantizer would be
                                // quadratic
  const auto ops = graph.ops();
  return *std::find_if(ops.rbegin(), ops.rend(), [&](Op op) { return nodes.contains(op.node()); });
}

/// Inserts a quantizer after a value, for all operators that read it as an activation. A tensor may also be a bias.
void read_codes(Value value, const ops::FakeQuantize& quantizer) {
  for (const auto& [reader, operand] : value.uses()) {
    const QuantInfo& quant = reader.info().quant;
    const int port = reader.port_of(operand);
    const bool is_activation = port != quant.weight && port != quant.fill && !passes::is_number_port(quant, port);
    const bool is_beside = reader.node()->block == quantizer.node()->block;  // quantizers in other blocks do not apply
    const bool computes = reader != quantizer && !reader.is<ops::ObserveRange>();  // observers read unquantized values
    if (computes && is_beside && (is_activation || !value.is_tensor())) reader.set_operand(operand, quantizer.out());
  }
}

/// The training kind of a quantizer with these bits.
QuantizerKind kind_for(const Platform& platform, bool weight, int bits) {
  const auto& asked = weight ? platform.weight_quantizer : platform.activation_quantizer;
  if (asked) return *asked;
  return bits < platform.low_bits_below && platform.low_bits_learned ? QuantizerKind::lsq : QuantizerKind::fixed;
}

/// Sets code range, observer and scale for `bits`.
void apply_bits(Model& model, const Platform& platform, const ops::FakeQuantize& quantizer, int bits,
                const Style& style) {
  const Value scale = passes::scale_tensor(quantizer);
  const bool weight = is_weight(quantizer);
  const CodeRange codes = code_range(style, weight, bits);
  const bool low_bits = bits < platform.low_bits_below;
  const bool learned = traits_of(kind_for(platform, weight, bits)).learns_scale;
  for (const auto& reader : readers_of(scale)) {
    wire_scale(model.graph, reader, scale, learned && platform.power_of_two);
    reader.set_attributes({{"code_min", codes.min},
                           {"code_max", codes.max},
                           {"code_type", codes.type},
                           {"gradient_scale", gradient_scale(reader, codes)}});
  }
  scale.node()->role = learned ? Role::parameter : Role::state;
  const ops::ObserveRange observer = observer_of(quantizer);
  configure_observer(model, observer, platform, style, codes, weight, low_bits);
  derive_parameters(model, observer);
}

/// A tensor with several readers has one quantizer for each. The second one is named NAME.2.
std::string free_name(const Graph& graph, const std::string& name) {
  std::string free = name;
  for (int number = 2; graph.tensor(free + ".scale"); ++number) free = name + "." + std::to_string(number);
  return free;
}

}  // namespace

bool is_weight(const ops::FakeQuantize& quantizer) {
  const auto weighs = [](const auto& use) {
    const int port = use.first.info().quant.weight;
    return port >= 0 && use.first.port_of(use.second) == port;
  };
  return quantizer.x().is_tensor() && std::ranges::any_of(quantizer.out().uses(), weighs);
}

int bits_of(const ops::FakeQuantize& quantizer) {
  const auto codes = static_cast<uint64_t>(quantizer.code_max() - quantizer.code_min());
  return static_cast<int>(std::bit_width(codes));
}

ops::ObserveRange observer_of(const ops::FakeQuantize& quantizer) {
  for (const auto& [user, operand] : passes::scale_tensor(quantizer).uses()) {
    if (passes::has_trait(user, Trait::observer)) return ops::ObserveRange(user.node());
  }
  fail(errors::quantizer_without_observer(quantizer.where()));
}

float effective_scale(const Model& model, const ops::FakeQuantize& quantizer, size_t channel) {
  const Value tensor = passes::scale_tensor(quantizer);
  const float scale = passes::contents_of(model, tensor).data<float>()[channel];
  return quantizer.scale() == tensor ? scale : arith::nearest_power_of_two(scale);
}

bool is_learned(const ops::FakeQuantize& quantizer) {
  return passes::scale_tensor(quantizer).role() == Role::parameter;
}

ops::FakeQuantize insert_quantizer(Model& model, const Platform& platform, const QuantizerPlace& place, Op reader) {
  Graph& graph = model.graph;
  const bool weight = place.weight_axis >= 0;
  const int64_t axis = weight && platform.per_channel ? place.weight_axis : -1;
  const int64_t count = axis < 0 ? 1 : place.values[0].dims()[static_cast<size_t>(axis)];
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string name = free_name(graph, place.name);
  const auto add_state = [&](const char* what, Tensor contents) {
    return passes::add_tensor(model, name + what, std::move(contents), Role::state);
  };
  const Value scale = add_state(".scale", filled(count, 1.0F));
  const Value zero_point = add_state(".zero_point", Tensor(DType::i32, {count}));
  const Value low = add_state(".low", filled(count, infinity));
  const Value high = add_state(".high", filled(count, -infinity));

  ops::FakeQuantize quantizer;
  std::set<detail::OpNode*> inserted;
  for (const Value value : place.values) {
    Builder builder = weight ? Builder::before(graph, reader) : passes::builder_behind(graph, value);
    builder.at((weight ? reader : value.producer() ? value.producer() : graph.ops().front()).location());
    quantizer = ops::fake_quantize(builder, {.x = value,
                                             .scale = scale,
                                             .zero_point = zero_point,
                                             .axis = axis,
                                             .method = platform.method,
                                             .rounding = platform.rounding,
                                             .requantize = platform.requantize,
                                             .shift_rounding = platform.shift_rounding,
                                             .multiplier_bits = platform.multiplier_bits,
                                             .average_bits = platform.average_bits,
                                             .name = value.name() + ".q"});
    if (weight) {
      reader.set_operand(reader.info().quant.weight, quantizer.out());
    } else {
      read_codes(value, quantizer);
    }
    inserted.insert(quantizer.node());
  }
  std::vector<Value> observed;
  if (!place.sees_also_alone) observed = place.values;
  for (const Value seen : place.also_seen) {
    observed.push_back(seen);
    if (seen.producer()) inserted.insert(seen.producer().node());
  }
  Builder builder =
      weight ? Builder::before(graph, quantizer) : passes::builder_behind(graph, last_of(graph, inserted).out(0));
  ops::observe_range(builder, {.low = low,
                               .high = high,
                               .scale = scale,
                               .zero_point = zero_point,
                               .x = observed,
                               .axis = axis,
                               .reach = place.reach,
                               .name = name + ".observer"});
  apply_bits(model, platform, quantizer, place.bits, style_of(platform, weight, place.is_unsigned));
  const QuantizerKind kind = kind_for(platform, weight, place.bits);
  if (kind != QuantizerKind::fixed && kind != QuantizerKind::lsq) {
    passes::keep_quantizer(
        model, quantizer, kind,
        kind == QuantizerKind::dsq ? platform.quantizer_numbers.softness : platform.quantizer_numbers.keep);
  }
  return quantizer;
}

void insert_alike(Model& model, Value value, const ops::FakeQuantize& other) {
  Builder builder = passes::builder_behind(model.graph, value);
  const Value scale = passes::scale_tensor(other);
  const ops::FakeQuantize quantizer(builder
                                        .insert({&ops::FakeQuantize::record(),
                                                 {value, scale, other.zero_point()},
                                                 other.attributes(),
                                                 value.name() + ".q",
                                                 other.location()})
                                        .node());
  wire_scale(model.graph, quantizer, scale, other.scale() != scale);
  read_codes(value, quantizer);
}

void take_codes_of(Model& model, const ops::FakeQuantize& quantizer, const ops::FakeQuantize& other) {
  const Op observer = observer_of(quantizer);
  const std::vector<Value> read = observer.operands();
  const Value before = passes::scale_tensor(quantizer), scale = passes::scale_tensor(other);
  model.graph.erase(observer);
  for (const ops::FakeQuantize& reader : readers_of(before)) {
    wire_scale(model.graph, reader, before, false);
    reader.set_operand(reader.info().input("scale"), scale);
    reader.set_operand(reader.info().input("zero_point"), other.zero_point());
    reader.set_attributes(other.attributes());
    wire_scale(model.graph, reader, scale, other.scale() != scale);
  }
  for (const Value tensor : read) {
    if (tensor && tensor.is_tensor() && tensor.unused()) passes::erase_tensor(model, tensor);
  }
}

void fix_range(Model& model, const ops::FakeQuantize& quantizer, std::span<const float> low,
               std::span<const float> high) {
  const ops::ObserveRange observer = observer_of(quantizer);
  wire_statistics(model, observer, 0);
  observer.set_attributes(
      {{"method", std::string("minmax")}, {"merge", std::string("moving")}, {"rate", 0.0}, {"statistics", int64_t{0}}});
  set_ranges(model, observer, low, high);
}

void fix_range(Model& model, const ops::FakeQuantize& quantizer, float low, float high) {
  fix_range(model, quantizer, std::span(&low, 1), std::span(&high, 1));
}

void set_ranges(Model& model, const ops::ObserveRange& observer, std::span<const float> low,
                std::span<const float> high) {
  std::ranges::copy(low, passes::own_contents(model, observer.low().name()).data<float>().begin());
  std::ranges::copy(high, passes::own_contents(model, observer.high().name()).data<float>().begin());
  if (observer.statistics() > 0)
    std::ranges::fill(passes::own_contents(model, observer.seen().name()).data<double>(), 0.0);
  derive_parameters(model, observer);
}

bool is_fixed(const ops::ObserveRange& observer) { return observer.merge() == "moving" && observer.rate() == 0; }

void forget_ranges(Model& model) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto fill = [&](Value tensor, auto with) {
    std::ranges::fill(passes::own_contents(model, tensor.name()).data<decltype(with)>(), with);
  };
  for (const auto& observer : model.graph.all<ops::ObserveRange>()) {
    if (is_fixed(observer)) continue;
    fill(observer.low(), kInfinity);
    fill(observer.high(), -kInfinity);
    if (observer.statistics() > 0) fill(observer.seen(), 0.0);
  }
}

void set_quantizer_bits(Model& model, const Platform& platform, const ops::FakeQuantize& quantizer, int bits) {
  const bool is_unsigned = platform.signed_activations && quantizer.code_min() == 0;
  apply_bits(model, platform, quantizer, bits, style_of(platform, is_weight(quantizer), is_unsigned));
  passes::start_quantizers(model, passes::scale_tensor(quantizer).name());
}

}  // namespace halfstep::quant
