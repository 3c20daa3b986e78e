#include "halfstep/verify/roads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "halfstep/base/status.h"
#include "halfstep/compile/compile.h"

namespace halfstep::verify {
namespace {

template <class F>
auto visit_codes(const Tensor& tensor, F visit) {
  switch (tensor.dtype()) {
    case DType::u8: return visit(tensor.data<uint8_t>());
    case DType::u16: return visit(tensor.data<uint16_t>());
    case DType::i4:
    case DType::i8: return visit(tensor.data<int8_t>());
    case DType::i32: return visit(tensor.data<int32_t>());
    default: break;
  }
  fail("type {} holds no codes", name(tensor.dtype()));
}

/// Of reals, such as scales and what operators in float give, the bits.
std::vector<int64_t> codes_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32)
    return visit_codes(tensor, [](auto codes) { return std::vector<int64_t>(codes.begin(), codes.end()); });
  std::vector<int64_t> bits;
  for (const float real : tensor.data<float>()) bits.push_back(std::bit_cast<int32_t>(real));
  return bits;
}

int64_t nhwc_index(const Dims& position, std::span<const int64_t> dims) {
  if (position.size() != 3) return -1;
  return (position[1] * dims[2] + position[2]) * dims[0] + position[0];
}

struct Comparison {
  int64_t compared = 0, differing = 0;
  std::optional<int64_t> first;
};

Comparison compare(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  Comparison result{static_cast<int64_t>(a.size()), 0, std::nullopt};
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    ++result.differing;
    if (!result.first) result.first = static_cast<int64_t>(i);
  }
  return result;
}

void compare_parameter(LayerReport& report, const std::string& what, const Tensor& a, const Tensor& b) {
  if (a.size() != b.size())
    fail("layer '{}': {} has {} elements on one road and {} on the other", report.layer.name, what, a.size(), b.size());
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const Comparison result = compare(codes_a, codes_b);
  report.parameters_compared += result.compared;
  report.parameters_differing += result.differing;
  if (!result.first || report.parameter) return;
  const auto at = static_cast<size_t>(*result.first);
  report.parameter =
      Difference{what, *result.first, 0, 0, position_of(*result.first, b.dims()), codes_a[at], codes_b[at]};
}

/// Name under which the training road gives a derived parameter of a layer: the first output of NAME.parameters is the
/// bias.
std::string derived(const Layer& layer, const Op& op, const std::string& port) {
  if (port == "b")
    return layer.name + (op.in(op.info().input("b")).dtype() == DType::f32 ? ".parameters.bias" : ".parameters");
  return layer.name + ".parameters." + (port == "w_scale" ? "weight_scale" : port);
}

const std::vector<std::string> kDerivedPorts = {
    "b", "multiplier", "shift", "negative_multiplier", "negative_shift", "w_scale"};

/// The integer operator with weights of that name.
Op op_of(const Model& model, const std::string& name) {
  const Op op = model.graph.op(name);
  const int port = op ? op.info().input("w") : -1;
  if (port < 0 || !op.in(port).is_tensor())
    fail("layer '{}': the integer program has {} of that name, expected a layer with stored weights", name,
         op ? op.info().name : "no operator");
  return op;
}

void require_layers(const Roads& roads) {
  for (const Layer& layer : roads.layers) {
    if (!roads.integer.graph.value(layer.name))
      fail("layer '{}': network '{}' has no value of that name, expected the integer program of '{}'", layer.name,
           roads.integer.graph.name(), roads.unquantized.graph.name());
  }
}

/// Values that a run of the training road must give.
std::vector<std::string> fetches(const Roads& roads) {
  std::vector<std::string> names;
  for (const Layer& layer : roads.layers) {
    names.push_back(layer.name);
    if (layer.weight_codes.empty()) continue;
    names.push_back(layer.weight_codes);
    const Op op = op_of(roads.integer, layer.name);
    for (const std::string& port : kDerivedPorts) {
      if (op.info().input(port) >= 0 && op.in(op.info().input(port))) names.push_back(derived(layer, op, port));
    }
  }
  return names;
}

using Values = std::map<std::string, Tensor>;

void compare_parameters(const Roads& roads, const Values& training, std::vector<LayerReport>& reports) {
  for (LayerReport& report : reports) {
    const Layer& layer = report.layer;
    if (layer.weight_codes.empty()) continue;
    const Op op = op_of(roads.integer, layer.name);
    const auto stored = [&](const std::string& port) {
      return roads.integer.tensors.at(op.in(op.info().input(port)).name());
    };
    compare_parameter(report, "weight", training.at(layer.weight_codes), stored("w"));
    for (const std::string& port : kDerivedPorts) {
      if (op.info().input(port) >= 0 && op.in(op.info().input(port)))
        compare_parameter(report, port == "b" ? "bias" : port, training.at(derived(layer, op, port)), stored(port));
    }
  }
}

/// What a comparison of features adds to.
struct FeatureCount {
  int64_t& compared;
  int64_t& differing;
  std::optional<Difference>& first;
};

void compare_features(const Layer& layer, FeatureCount count, const Tensor& a, const Tensor& b, int64_t first_sample) {
  if (a.dims() != b.dims())
    fail("layer '{}': features are {} on one road and {} on the other", layer.name, to_string(a.type()),
         to_string(b.type()));
  if (a.same_bits(b)) {
    count.compared += a.size();
    return;
  }
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const Comparison result = compare(codes_a, codes_b);
  count.compared += result.compared;
  count.differing += result.differing;
  if (!result.first || count.first) return;
  const auto sample_dims = std::span(a.dims()).subspan(1);
  const int64_t sample_size = count_elements(sample_dims);
  const int64_t index = *result.first % sample_size;
  const auto at = static_cast<size_t>(*result.first);
  const Dims position = position_of(index, sample_dims);
  count.first = Difference{
      "feature",   index,      nhwc_index(position, sample_dims), first_sample + *result.first / sample_size, position,
      codes_a[at], codes_b[at]};
}

/// Adds a layer's codes; `begun` has the samples that differed before it, and those that do now. Returns how many of
/// these are new.
int64_t compare_layer(VariantReport& report, const Tensor& a, const Tensor& b, std::vector<bool>& begun) {
  HS_CHECK(a.dims() == b.dims());
  report.compared += a.size();
  if (a.same_bits(b)) return 0;
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const size_t sample_size = codes_a.size() / static_cast<size_t>(a.dims()[0]);
  begun.resize(static_cast<size_t>(a.dims()[0]));
  int64_t fresh = 0;
  for (size_t i = 0; i < codes_a.size(); ++i) {
    if (codes_a[i] == codes_b[i]) continue;
    ++report.differing;
    report.largest = std::max(report.largest, std::abs(codes_a[i] - codes_b[i]));
    if (!begun[i / sample_size]) ++fresh;
    begun[i / sample_size] = true;
  }
  return fresh;
}

void compare_variant(VariantReport& report, const std::vector<Layer>& layers, const Values& integer,
                     const Values& variant) {
  std::vector<bool> begun;
  for (const Layer& layer : layers) {
    const auto shown = variant.find(layer.name);
    if (shown == variant.end()) continue;
    const int64_t fresh = compare_layer(report, integer.at(layer.name), shown->second, begun);
    if (fresh == 0) continue;
    const auto known = std::find_if(report.begins.begin(), report.begins.end(),
                                    [&](const auto& place) { return place.first == layer.name; });
    if (known != report.begins.end()) {
      known->second += fresh;
    } else {
      report.begins.emplace_back(layer.name, fresh);
    }
  }
}

/// Sums for 10 log10(signal / noise).
struct Noise {
  double signal = 0, noise = 0;

  void add(const Layer& layer, const Tensor& values, const Tensor& real) {
    if (values.dtype() == DType::f32) return add(layer, values.data<float>(), real.data<float>());
    visit_codes(values, [&](auto codes) {
      add(layer, codes, real.data<float>());
      return 0;
    });
  }
  template <class T>
  void add(const Layer& layer, std::span<const T> values, std::span<const float> exact) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const double steps = static_cast<double>(values[i]) - static_cast<double>(layer.zero_point);
      const double wanted = static_cast<double>(exact[i]);
      const double error = wanted - steps * static_cast<double>(layer.scale);
      signal += wanted * wanted;
      noise += error * error;
    }
  }
  double decibel() const {
    return noise > 0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
  }
};

/// The three programs for one batch size.
struct Programs {
  runtime::Program training, integer, unquantized;
};

runtime::Program program_of(const Model& model, const Tensors& inputs, std::vector<std::string> fetch) {
  CompileOptions options;
  options.fetch = std::move(fetch);
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
  Model sized = specialize(model, extents);
  sized.graph.set_outputs({});  // one may be called as the layer whose codes are meant
  return compile(sized, options);
}

Programs programs_of(const Roads& roads, const Tensors& inputs) {
  std::vector<std::string> features, reals;
  for (const Layer& layer : roads.layers) {
    features.push_back(layer.name);
    const bool known = std::find(reals.begin(), reals.end(), layer.float_value) != reals.end();
    if (!known && !inputs.contains(layer.float_value)) reals.push_back(layer.float_value);
  }
  return {program_of(roads.training, inputs, fetches(roads)), program_of(roads.integer, inputs, features),
          program_of(roads.unquantized, inputs, reals)};
}

}  // namespace

Dims position_of(int64_t index, std::span<const int64_t> dims) {
  Dims position(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    position[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return position;
}

bool RoadReport::equal() const {
  return std::all_of(layers.begin(), layers.end(), [](const LayerReport& r) {
    return r.differing + r.engine_differing + r.parameters_differing == 0;
  });
}

RoadReport compare_roads(const Roads& roads, const BatchSource& source, int64_t samples, int64_t batch,
                         ThreadPool& pool, const ProgressCallback& progress) {
  require_layers(roads);
  RoadReport report;
  report.samples = samples;
  for (const Layer& layer : roads.layers)
    report.layers.push_back({.layer = layer, .parameter = {}, .feature = {}, .engine = {}});
  for (const Variant& variant : roads.variants) report.variants.push_back({.name = variant.name});
  std::vector<Noise> noise(roads.layers.size());
  std::map<int64_t, Programs> programs;
  for (int64_t begin = 0; begin < samples; begin += batch) {
    const int64_t count = std::min(batch, samples - begin);
    const Tensors inputs = source(begin, count);
    if (!programs.contains(count)) programs.emplace(count, programs_of(roads, inputs));
    Programs& now = programs.at(count);
    const Values training = now.training.run(inputs, pool);
    const Values integer = now.integer.run(inputs, pool);
    const Values unquantized = now.unquantized.run(inputs, pool);
    const Values engine = roads.engine ? roads.engine(inputs) : Values();
    if (begin == 0) compare_parameters(roads, training, report.layers);
    for (size_t i = 0; i < roads.layers.size(); ++i) {
      const Layer& layer = roads.layers[i];
      LayerReport& layer_report = report.layers[i];
      compare_features(layer, {layer_report.compared, layer_report.differing, layer_report.feature},
                       training.at(layer.name), integer.at(layer.name), begin);
      if (roads.engine)
        compare_features(layer, {layer_report.engine_compared, layer_report.engine_differing, layer_report.engine},
                         integer.at(layer.name), engine.at(layer.name), begin);
      const auto input = inputs.find(layer.float_value);
      noise[i].add(layer, integer.at(layer.name),
                   input != inputs.end() ? input->second : unquantized.at(layer.float_value));
    }
    for (size_t i = 0; i < roads.variants.size(); ++i)
      compare_variant(report.variants[i], roads.layers, integer, roads.variants[i].engine(inputs));
    if (progress)
      progress(
          {"verification", static_cast<double>(std::min(begin + batch, samples)), static_cast<double>(samples), ""});
  }
  for (size_t i = 0; i < noise.size(); ++i) report.layers[i].sqnr_db = noise[i].decibel();
  return report;
}

}  // namespace halfstep::verify
