#include "halfstep/api/dump.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/detail/onnxruntime_backend.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/metadata/code_formats.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/quant/platform/selector.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::api {
namespace {

using board::Codes;
using board::Entry;

/// A value to write: its manifest entry, and the graph value that produces it.
struct Planned {
  Entry entry;
  std::string fetch;  ///< value of the executed graph; "" for a stored parameter
  Tensor contents = {};
};

struct Plan {
  Model form;  ///< executed network
  std::string path;
  std::string graph;  ///< graph text of the integer program
  std::vector<Planned> values;
};

std::vector<std::string> patterns_without_layer(const std::vector<std::string>& patterns,
                                                const quant::LayerNames& names, const std::vector<Op>& layers,
                                                const Graph& graph) {
  std::vector<std::string> without;
  for (const std::string& pattern : patterns) {
    const bool fits = std::ranges::any_of(layers, [&](Op op) { return names.fits(pattern, op); }) ||
                      std::ranges::any_of(graph.arguments(), [&](Value v) { return names.fits(pattern, v.name()); });
    if (!fits) without.push_back(pattern);
  }
  return without;
}

class Planner {
 public:
  Planner(const Model& network, const DumpOptions& options) : network_(network), options_(options), names_(network) {}

  Plan run() {
    plan_.form = train::evaluation_form(network_);
    const Stage stage = stage_of(network_);
    if (stage == Stage::prepared) {
      plan_prepared();
    } else {
      plan_.path = stage == Stage::integer ? "integer program" : "float network";
      if (stage == Stage::integer) plan_.graph = print(plan_.form.graph);
      plan_operators(plan_.form.metadata.code_formats);
    }
    return std::move(plan_);
  }

 private:
  void require_layers(const std::vector<Op>& layers) const {
    for (const std::string& pattern : patterns_without_layer(options_.layers, names_, layers, plan_.form.graph))
      fail(errors::no_layer_to_dump(pattern, quant::known_layers(pattern, layers)));
  }
  bool wants(Op layer) const {
    return options_.layers.empty() ||
           std::ranges::any_of(options_.layers, [&](const auto& pattern) { return names_.fits(pattern, layer); });
  }

  void add_arguments() {
    for (const Value argument : plan_.form.graph.arguments()) {
      const bool wanted = options_.layers.empty() || std::ranges::any_of(options_.layers, [&](const auto& pattern) {
                            return names_.fits(pattern, argument.name());
                          });
      if (wanted) add({argument.name(), argument.name(), ""}, argument.name());
    }
  }
  void add(Entry entry, const std::string& fetch, Tensor contents = {}) {
    if (seen_.insert(entry.name).second) plan_.values.push_back({std::move(entry), fetch, std::move(contents)});
  }

  void plan_operators(const CodeFormats& formats) {
    const std::vector<Op> ops = plan_.form.graph.ops();
    require_layers(ops);
    add_arguments();
    for (const Op op : ops) {
      if (!wants(op)) continue;
      if (options_.parameters) add_parameters(op);
      for (const Value result : op.results()) {
        Entry entry{result.name(), op.name(), op.info().name};
        const auto format = formats.find(result.name());
        if (format != formats.end()) {
          const ValueCodes& codes = format->second;
          entry.codes = Codes{codes.scale, codes.zero_point, codes.code_min, codes.code_max};
        } else if (stage_of(network_) == Stage::integer && !is_float(result.dtype())) {
          const auto [low, high] = whole_range(result.dtype());
          entry.codes = Codes{std::nullopt, 0, static_cast<int64_t>(low), static_cast<int64_t>(high)};
        }
        add(entry, result.name());
      }
    }
  }

  void add_parameters(Op op) {
    const auto operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value operand = operands[i];
      if (!operand || !operand.is_tensor()) continue;
      const std::string& port = op.info().inputs[static_cast<size_t>(op.port_of(static_cast<int>(i)))].name;
      add({operand.name(), op.name(), op.info().name, port}, "", plan_.form.tensors.at(operand.name()));
    }
  }

  /// Plans the codes computed by the training path of a prepared network, and the parameters that it derives. Order and
  /// names are those of its integer program. Without an integer program, only the codes of its steps are planned.
  void plan_prepared() {
    plan_.path = "training path";
    steps_ = passes::quantized_steps(network_);
    std::vector<Op> layers;
    for (const auto& step : steps_) layers.push_back(step.main ? step.main : Op(step.quantizer));
    require_layers(layers);
    add_arguments();
    if (const auto integer = program()) {
      plan_.graph = print(integer->graph);
      for (const Op op : integer->graph.ops()) {
        if (wants(op)) add_computed(op, *integer, integer->metadata.code_formats);
      }
      return;
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (wants(layers[i]) && plan_.form.graph.value(steps_[i].name())) add_step(steps_[i]);
    }
  }

  std::optional<Model> program() const {
    try {
      return quant::convert(with_declared_codes(network_), {.float_fallback = true}).model;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return std::nullopt;
    }
  }

  /// Adds the values of the training path that correspond to this operator of the program.
  void add_computed(Op op, const Model& integer, const CodeFormats& formats) {
    const auto operands = op.operands();
    for (size_t i = 0; options_.parameters && i < operands.size(); ++i) {
      const Value stored = operands[i];
      if (!stored || !stored.is_tensor()) continue;
      const std::string& port = op.info().inputs[static_cast<size_t>(op.port_of(static_cast<int>(i)))].name;
      const Value computed = computed_parameter(op.name(), port, stored);
      add({stored.name(), op.name(), op.info().name, port}, computed ? computed.name() : "",
          computed ? Tensor() : integer.tensors.at(stored.name()));
    }
    if (!plan_.form.graph.value(op.name())) return;
    Entry entry{op.name(), op.name(), op.info().name};
    if (const auto format = formats.find(op.name()); format != formats.end()) {
      const ValueCodes& codes = format->second;
      entry.codes = Codes{codes.scale, codes.zero_point, codes.code_min, codes.code_max};
    }
    add(entry, op.name());
  }

  /// Returns the value that the training path derives for a port of a layer with weights, or null.
  Value computed_parameter(const std::string& layer, const std::string& port, Value stored) const {
    const Op derived = plan_.form.graph.op(layer + ".parameters");
    const auto step = std::ranges::find_if(steps_, [&](const auto& one) { return one.name() == layer; });
    if (!derived || step == steps_.end() || !step->weight) return {};
    const ops::RequantizationParameters computed(derived.node());
    const std::map<std::string, Value> by_port = {
        {"w", plan_.form.graph.value(step->weight.name())},
        {"b", stored.dtype() == DType::f32 ? computed.bias() : computed.b_codes()},
        {"multiplier", computed.multiplier()},
        {"shift", computed.shift()},
        {"negative_multiplier", computed.negative_multiplier()},
        {"negative_shift", computed.negative_shift()},
        {"w_scale", computed.weight_scale()}};
    const auto found = by_port.find(port);
    return found == by_port.end() || !found->second || found->second.is_tensor() ? Value() : found->second;
  }

  void add_step(const passes::QuantizedStep& step) {
    Entry entry{step.name(), step.name(), step.main ? step.main.info().name : step.quantizer.info().name};
    if (step.has_codes()) {
      const ops::FakeQuantize quantizer(passes::unmoved(step.result()).producer().node());
      entry.codes = Codes{quant::effective_scale(network_, quantizer),
                          network_.tensors.at(quantizer.zero_point().name()).data<int32_t>()[0], quantizer.code_min(),
                          quantizer.code_max()};
    }
    add(entry, step.name());
  }

  const Model& network_;
  const DumpOptions& options_;
  quant::LayerNames names_;
  Plan plan_;
  std::vector<passes::QuantizedStep> steps_;  ///< steps of a prepared network
  std::set<std::string> seen_;
};

board::Layout layout_of(const Model& network, const LayoutOptions& options, board::Format format) {
  quant::DumpLayout said;
  if (network.metadata.platform) said = quant::parsed(network.metadata.platform).dump;
  const std::vector<int64_t> border = options.border.value_or(said.border);
  if (border.size() != 4 || std::ranges::any_of(border, [](int64_t side) { return side < 0 || side > 64; }))
    fail(errors::wrong_border(fmt::format("{}", fmt::join(border, ", "))));
  board::Layout layout;
  board::set_order(layout, options.order ? *options.order : board::parse_order(said.order, "layout"));
  layout.packing = options.packing ? *options.packing : board::parse_packing(said.packing, "packing");
  layout.offset = options.offset.value_or(said.offset);
  layout.border = {border[0], border[1], border[2], border[3]};
  layout.big_endian = options.big_endian && format == board::Format::bin;
  return layout;
}

/// Concatenates all batches of a value. A value without axes yields one number for each batch.
Tensor joined(const std::vector<Tensor>& parts) {
  if (parts.size() == 1) return parts.front();
  Dims dims = parts.front().dims();
  if (dims.empty()) dims.push_back(1);
  dims[0] = 0;
  for (const Tensor& part : parts) dims[0] += part.dims().empty() ? 1 : part.dims()[0];
  Tensor result = Tensor::uninitialized(parts.front().dtype(), dims);
  size_t at = 0;
  for (const Tensor& part : parts) {
    std::copy_n(part.raw(), part.bytes(), result.raw() + at);
    at += part.bytes();
  }
  return result;
}

/// Returns a backend that computes the codes of every layer, if the options select one.
verify::Engine engine_of_onnxruntime(const Model& network, const Plan& plan, const Settings& settings) {
  require_stage(network, Stage::integer);
  verify::ExecutionPaths paths;
  paths.integer = network;
  for (const Planned& value : plan.values) {
    if (!value.entry.is_activation() || !value.entry.codes) continue;
    paths.layers.emplace_back();
    paths.layers.back().name = value.entry.name;
  }
  add_onnxruntime(paths, {.python = settings.python});
  return paths.engine;
}

/// Runs the plan. Parameters are taken from the first batch.
std::map<std::string, Tensor> run_plan(const Plan& plan, const verify::Engine& engine, const data::Samples& samples,
                                       const Settings& settings) {
  Model form = plan.form;
  std::vector<Value> outputs;  // each output has the name of its value
  for (const Value output : form.graph.outputs()) {
    if (std::ranges::find(outputs, output) == outputs.end()) outputs.push_back(output);
  }
  form.graph.set_outputs(outputs);
  std::vector<std::string> fetch;
  std::set<std::string> arguments;
  for (const Value argument : form.graph.arguments()) arguments.insert(argument.name());
  for (const Planned& value : plan.values) {
    if (!value.fetch.empty() && !arguments.contains(value.fetch)) fetch.push_back(value.fetch);
  }
  ThreadPool pool(settings.threads);
  train::BatchRunner runner(form, fetch, pool);
  const int64_t batch = data::judged_batch(form, 64), end = data::usable(form, samples.size());
  if (end == 0) fail(errors::too_few_samples(form.graph.name(), samples.size(), data::batch_of(form, 1)));
  std::map<std::string, std::vector<Tensor>> parts;
  for (int64_t begin = 0; begin < end; begin += batch) {
    const Tensors inputs = samples.inputs(begin, std::min(batch, end - begin));
    Tensors results = fetch.empty() ? Tensors() : runner.run(inputs);
    if (engine) {
      for (auto& [name, codes] : engine(inputs)) results[name] = codes;
    }
    for (const Planned& value : plan.values) {
      if (value.fetch.empty() || (!value.entry.is_activation() && begin > 0)) continue;
      const Tensors& from = arguments.contains(value.fetch) ? inputs : results;
      parts[value.fetch].push_back(from.at(value.fetch));
    }
    if (settings.progress)
      settings.progress({"running", static_cast<double>(std::min(begin + batch, end)), static_cast<double>(end), ""});
  }
  std::map<std::string, Tensor> contents;
  for (const auto& [name, batches] : parts) contents[name] = joined(batches);
  return contents;
}

/// Dequantizes codes to f32.
Tensor floats_of(const Tensor& codes, const Codes& format, const std::string& name) {
  if (!format.scale) fail(errors::value_without_scale(name));
  Tensor floats = Tensor::uninitialized(DType::f32, codes.dims());
  const auto to = floats.data<float>();
  for (int64_t i = 0; i < codes.size(); ++i)
    to[static_cast<size_t>(i)] =
        static_cast<float>(element(codes, i) - static_cast<double>(format.zero_point)) * *format.scale;
  return floats;
}

}  // namespace

NetworkValues values_of(const Model& given, const Dataset& data, const DumpOptions& options, const Settings& settings) {
  Model network = given;
  data::change_preprocess(network, options.preprocess);
  const board::Layout layout = layout_of(network, options.layout, options.format);
  Plan plan = Planner(network, options).run();
  const auto parts = parts_for(network, data);
  const auto engine = options.backend ? engine_of_onnxruntime(network, plan, settings) : verify::Engine();
  const auto contents = run_plan(plan, engine, parts.test, settings);

  NetworkValues dumped;
  dumped.manifest = {network.graph.name(),
                     std::string(name(stage_of(network))),
                     options.backend ? std::string(name(*options.backend)) : plan.path,
                     0,
                     plan.graph,
                     {}};
  for (Planned& value : plan.values) {
    Tensor tensor = value.fetch.empty() ? value.contents : contents.at(value.fetch);
    Entry& entry = value.entry;
    if (entry.is_activation()) dumped.manifest.samples = tensor.dims().empty() ? 1 : tensor.dims()[0];
    if (options.floats && entry.codes) {
      tensor = floats_of(tensor, *entry.codes, entry.name);
      entry.codes.reset();
    }
    entry.type = tensor.type();
    const bool nibbles = tensor.dtype() == DType::i4 || tensor.dtype() == DType::u4 || tensor.dtype() == DType::i2;
    entry.layout = board::layout_for(layout, tensor.dims(), tensor.dtype(),
                                     entry.codes ? entry.codes->bits()
                                     : nibbles   ? 4
                                                 : 8);
    if (!entry.is_activation()) {
      entry.layout.border = {};
      entry.layout.offset = false;
    }
    entry.format = options.format;
    dumped.manifest.entries.push_back(entry);
    dumped.contents.push_back(std::move(tensor));
  }
  return dumped;
}

board::Manifest dump(const Model& network, const Dataset& data, const OutFile& out, const DumpOptions& options,
                     const Settings& settings) {
  board::require_dump_target(out.path, out.overwrite);
  NetworkValues values = values_of(network, data, options, settings);
  board::FolderWriter folder(out.path, out.overwrite);
  for (size_t i = 0; i < values.contents.size(); ++i) folder.add(values.manifest.entries[i], values.contents[i]);
  folder.finish(values.manifest);
  return values.manifest;
}

}  // namespace halfstep::api
