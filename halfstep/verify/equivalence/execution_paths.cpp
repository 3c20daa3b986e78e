#include "halfstep/verify/equivalence/execution_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "halfstep/core/base/sqnr.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/verify/equivalence/compared_programs.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/operators/tensor_numbers.h"

namespace halfstep::verify {
namespace {

template <class F>
auto visit_codes(const Tensor& tensor, F visit) {
  switch (tensor.dtype()) {
    case DType::u8: return visit(tensor.data<uint8_t>());
    case DType::u16: return visit(tensor.data<uint16_t>());
    case DType::i16: return visit(tensor.data<int16_t>());
    case DType::i4:
    case DType::i8: return visit(tensor.data<int8_t>());
    case DType::i32: return visit(tensor.data<int32_t>());
    case DType::i64: return visit(tensor.data<int64_t>());  // positions
    default: break;
  }
  fail(errors::semantic_check_incomplete("comparison", fmt::format("codes in a tensor of {}", name(tensor.dtype()))));
}

/// The codes of a tensor. For float values, such as scales and results of operators in float, their bits. All NaNs are
/// equal, because the sign of a NaN depends on the order of operands.
std::vector<int64_t> codes_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32)
    return visit_codes(tensor, [](auto codes) { return std::vector<int64_t>(codes.begin(), codes.end()); });
  std::vector<int64_t> bits;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const float real : tensor.data<float>()) bits.push_back(std::bit_cast<int32_t>(std::isnan(real) ? kNaN : real));
  return bits;
}

struct CodeComparison {
  int64_t compared = 0, differing = 0;
  std::optional<int64_t> first;
};

CodeComparison compare(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  CodeComparison result{static_cast<int64_t>(a.size()), 0, std::nullopt};
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    ++result.differing;
    if (!result.first) result.first = static_cast<int64_t>(i);
  }
  return result;
}

void compare_parameter(LayerReport& report, const std::string& what, const Tensor& a, const Tensor& b) {
  if (a.size() != b.size())
    fail(errors::program_does_not_match(fmt::format("layer '{}'", report.layer.name),
                                        fmt::format("{} of {} elements", what, b.size()), a.size()));
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const CodeComparison result = compare(codes_a, codes_b);
  report.parameters_compared += result.compared;
  report.parameters_differing += result.differing;
  if (!result.first || report.parameter) return;
  const auto at = static_cast<size_t>(*result.first);
  report.parameter =
      Difference{what, *result.first, 0, 0, position_of(*result.first, b.dims()), codes_a[at], codes_b[at]};
}

/// A parameter of a layer: the value computed by the training network, and the tensor stored in the integer program.
struct Parameter {
  const char* what;
  Value computed, stored;
};

template <class Layer>
std::vector<Parameter> parameters_of(Layer stored, Value weight_codes, ops::RequantizationParameters computed) {
  const bool real_bias = stored.b().dtype() == DType::f32;
  std::vector<Parameter> all = {{"weight", weight_codes, stored.w()},
                                {"bias", real_bias ? computed.bias() : computed.b_codes(), stored.b()},
                                {"multiplier", computed.multiplier(), stored.multiplier()},
                                {"shift", computed.shift(), stored.shift()},
                                {"negative_multiplier", computed.negative_multiplier(), stored.negative_multiplier()},
                                {"negative_shift", computed.negative_shift(), stored.negative_shift()},
                                {"w_scale", computed.weight_scale(), stored.w_scale()}};
  std::erase_if(all, [](const Parameter& parameter) { return !parameter.stored; });
  return all;
}

/// The parameters of a layer, weight first. Empty for a layer without weights.
std::vector<Parameter> parameters_of(const ExecutionPaths& paths, const Layer& layer) {
  if (layer.weight_codes.empty()) return {};
  const Op op = paths.integer.graph.op(layer.name);
  const Value codes = paths.training.graph.value(layer.weight_codes);
  const ops::RequantizationParameters computed(paths.training.graph.op(layer.name + ".parameters").node());
  if (op.is<ops::IntegerConv2d>()) return parameters_of(ops::IntegerConv2d(op.node()), codes, computed);
  if (op.is<ops::IntegerLinear>()) return parameters_of(ops::IntegerLinear(op.node()), codes, computed);
  fail(errors::program_does_not_match(fmt::format("layer '{}'", layer.name),
                                      op ? op.info().name : "no operator of that name", "a layer with stored weights"));
}

void require_layers(const ExecutionPaths& paths) {
  for (const Layer& layer : paths.layers) {
    if (!paths.integer.graph.value(layer.name))
      fail(errors::program_does_not_match(
          fmt::format("layer '{}'", layer.name),
          fmt::format("no value of that name in network '{}'", paths.integer.graph.name()),
          fmt::format("the integer program of '{}'", paths.unquantized.graph.name())));
  }
}

/// Names of the values that a run of the training network must return.
std::vector<std::string> fetches(const ExecutionPaths& paths) {
  std::vector<std::string> names;
  for (const Layer& layer : paths.layers) {
    names.push_back(layer.name);
    for (const Parameter& parameter : parameters_of(paths, layer)) names.push_back(parameter.computed.name());
  }
  return names;
}

using Values = std::map<std::string, Tensor>;

void compare_parameters(const ExecutionPaths& paths, const Values& training, std::vector<LayerReport>& reports) {
  for (LayerReport& report : reports) {
    for (const Parameter& parameter : parameters_of(paths, report.layer))
      compare_parameter(report, parameter.what, training.at(parameter.computed.name()),
                        paths.integer.tensors.at(parameter.stored.name()));
  }
}

/// The counters and the first difference that a comparison of activations updates.
struct ActivationCount {
  int64_t& compared;
  int64_t& differing;
  std::optional<Difference>& first;
};

/// Compares codes of activations. Samples are on the first axis. If `whole`, the tensors are one sample.
void compare_activations(const Layer& layer, ActivationCount count, const Tensor& a, const Tensor& b,
                         int64_t first_sample, bool whole) {
  if (a.dims() != b.dims())
    fail(errors::program_does_not_match(fmt::format("layer '{}'", layer.name), to_string(b.type()),
                                        to_string(a.type())));
  if (a.same_bits(b)) {
    count.compared += a.size();
    return;
  }
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const CodeComparison result = compare(codes_a, codes_b);
  count.compared += result.compared;
  count.differing += result.differing;
  if (!result.first || count.first) return;
  const auto sample_dims = std::span(a.dims()).subspan(a.dims().empty() || whole ? 0 : 1);
  const int64_t sample_size = count_elements(sample_dims);
  const int64_t index = *result.first % sample_size;
  const auto at = static_cast<size_t>(*result.first);
  const Dims position = position_of(index, sample_dims);
  count.first = Difference{
      "activation", index,      nhwc_index(position, sample_dims), first_sample + *result.first / sample_size, position,
      codes_a[at],  codes_b[at]};
}

/// Adds a layer's codes. `begun` marks samples that differ in an earlier layer, and is updated. Returns the number of
/// newly marked samples.
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

/// Compares the real values of a layer's codes with its values in the float network.
struct CodeLikeness {
  Likeness sums;

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
      sums.add(static_cast<double>(exact[i]), steps * static_cast<double>(layer.scale));
    }
  }
};

/// Compares the outputs of the integer program with those of the float network.
class OutputComparison {
 public:
  void add(const std::string& name, const Tensor& codes, const Tensor& real) {
    parts_.add(name, real, codes);
    if (first_.empty()) first_ = name;
    if (name == first_) add_first(codes, real);
  }
  void report(VerifyReport& report) {
    report.parts = parts_.parts();
    report.cosine = sums_.cosine();
    if (const size_t rows = answers_.integer.size(); rows > 0) {
      int64_t agreeing = 0;
      for (size_t i = 0; i < rows; ++i) agreeing += answers_.integer[i] == answers_.unquantized[i] ? 1 : 0;
      report.agreement = static_cast<double>(agreeing) / static_cast<double>(rows);
    }
    report.answers = std::move(answers_);
  }

 private:
  void add_first(const Tensor& codes, const Tensor& real) {
    if (codes.type() != real.type() || codes.dtype() != DType::f32) return;
    const auto a = codes.data<float>(), b = real.data<float>();
    sums_.add(b, a);
    if (codes.dims().size() != 2 || codes.dims()[1] == 0) return;
    const auto classes = static_cast<size_t>(codes.dims()[1]);
    for (size_t row = 0; row + classes <= a.size(); row += classes) {
      answers_.integer.push_back(largest(a.subspan(row, classes)));
      answers_.unquantized.push_back(largest(b.subspan(row, classes)));
    }
  }
  static int64_t largest(std::span<const float> row) {
    if (std::ranges::any_of(row, [](float value) { return std::isnan(value); })) return -1;
    return std::max_element(row.begin(), row.end()) - row.begin();
  }
  std::string first_;  ///< name of the first output
  OutputParts parts_;
  Likeness sums_;  ///< statistics of the first output
  Answers answers_;
};

/// The three programs for one batch size.
struct Programs {
  runtime::Program training, integer, unquantized;
};

/// Pairs of output names in two forms of a network.
std::vector<std::pair<std::string, std::string>> outputs_of(const Model& first, const Model& second) {
  const std::vector<Value> a = first.graph.outputs(), b = second.graph.outputs();
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const std::pair both(a[i].name(), b[i].name());
    const bool is_computed = a[i].producer() && b[i].producer();
    if (i == 0 || (is_computed && std::ranges::find(names, both) == names.end())) names.push_back(both);
  }
  return names;
}

Programs programs_of(const ExecutionPaths& paths, const Tensors& inputs) {
  std::vector<std::string> activations, floats;
  const auto fetch = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Layer& layer : paths.layers) {
    fetch(activations, layer.name);
    if (!layer.real_value.empty() && !inputs.contains(layer.real_value)) fetch(floats, layer.real_value);
  }
  for (const auto& [coded, real] : outputs_of(paths.integer, paths.unquantized)) {
    fetch(activations, coded);
    fetch(floats, real);
  }
  return {program_of(paths.training, inputs, fetches(paths)), program_of(paths.integer, inputs, activations),
          program_of(paths.unquantized, inputs, floats)};
}

}  // namespace

bool VerifyReport::equal() const {
  return std::all_of(layers.begin(), layers.end(),
                     [](const LayerReport& r) {
                       return r.differing + r.engine_differing + r.parameters_differing +
                                  (r.semantics ? r.semantics->beyond : 0) ==
                              0;
                     }) &&
         (!floats || floats->holds()) && (!whole || whole->holds());
}

const LayerReport* VerifyReport::first_of_engine() const {
  const auto outermost = [](const std::string& path) { return path.substr(0, path.find(": ")); };
  const auto precedes = [](const Difference& a, const Difference& b) {
    if (a.sample != b.sample) return a.sample < b.sample;
    const auto both = static_cast<std::ptrdiff_t>(std::min(a.turns.size(), b.turns.size()));
    return std::lexicographical_compare(a.turns.begin(), a.turns.begin() + both, b.turns.begin(),
                                        b.turns.begin() + both);
  };
  const LayerReport* first = nullptr;
  for (const LayerReport& layer : layers) {
    if (!layer.engine) continue;
    const bool is_beside =
        first != nullptr && !layer.layer.path.empty() && outermost(layer.layer.path) == outermost(first->layer.path);
    if (first == nullptr || (is_beside && precedes(*layer.engine, *first->engine))) first = &layer;
  }
  return first;
}

VerifyReport compare_paths(const ExecutionPaths& paths, const BatchSource& source, int64_t samples, int64_t batch,
                           ThreadPool& pool, const ProgressCallback& progress) {
  require_layers(paths);
  batch = std::min(batch, paths.most_samples);
  VerifyReport report;
  report.samples = samples;
  report.notes = paths.notes;
  for (const Layer& layer : paths.layers)
    report.layers.push_back({.layer = layer, .parameter = {}, .activation = {}, .engine = {}, .semantics = {}});
  for (const Variant& variant : paths.variants) report.variants.push_back({.name = variant.name});
  std::vector<CodeLikeness> noise(paths.layers.size());
  std::map<std::vector<Dims>, Programs> programs;  // by shapes of the inputs
  OutputComparison outputs;
  for (int64_t begin = 0; begin < samples; begin += batch) {
    const int64_t count = std::min(batch, samples - begin);
    const Tensors inputs = source(begin, count);
    const std::vector<Dims> extents = extents_of(inputs);
    if (!programs.contains(extents)) programs.emplace(extents, programs_of(paths, inputs));
    Programs& now = programs.at(extents);
    const Values training = now.training.run(inputs, pool);
    const Values integer = now.integer.run(inputs, pool);
    const Values unquantized = now.unquantized.run(inputs, pool);
    const Values engine = paths.engine ? paths.engine(inputs) : Values();
    if (begin == 0) compare_parameters(paths, training, report.layers);
    for (size_t i = 0; i < paths.layers.size(); ++i) {
      const Layer& layer = paths.layers[i];
      LayerReport& layer_report = report.layers[i];
      compare_activations(layer, {layer_report.compared, layer_report.differing, layer_report.activation},
                          training.at(layer.name), integer.at(layer.name), begin, paths.whole);
      const ActivationCount of_engine{layer_report.engine_compared, layer_report.engine_differing, layer_report.engine};
      const Tensor& codes = integer.at(layer.name);
      if (const auto shown = engine.find(layer.name); shown != engine.end()) {
        compare_activations(layer, of_engine, codes, shown->second, begin, paths.whole);
      } else if (paths.recorded) {
        const auto recorded = paths.recorded(begin, layer.name, codes);
        if (recorded) compare_activations(layer, of_engine, codes, *recorded, begin, paths.whole);
      }
      if (layer.real_value.empty()) continue;
      const auto input = inputs.find(layer.real_value);
      noise[i].add(layer, integer.at(layer.name),
                   input != inputs.end() ? input->second : unquantized.at(layer.real_value));
    }
    for (const auto& [coded, real] : outputs_of(paths.integer, paths.unquantized))
      outputs.add(real, integer.at(coded), unquantized.at(real));
    for (size_t i = 0; i < paths.variants.size(); ++i)
      compare_variant(report.variants[i], paths.layers, integer, paths.variants[i].engine(inputs));
    if (progress)
      progress(
          {"verification", static_cast<double>(std::min(begin + batch, samples)), static_cast<double>(samples), ""});
  }
  for (size_t i = 0; i < noise.size(); ++i)
    report.layers[i].sqnr_db =
        paths.layers[i].real_value.empty() ? std::numeric_limits<double>::quiet_NaN() : noise[i].sums.sqnr_db();
  outputs.report(report);
  return report;
}

}  // namespace halfstep::verify
