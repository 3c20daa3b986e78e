#include "halfstep/api/detail/onnxruntime_backend.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/child_process.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/temporary_folder.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/formats/onnx_export/record_inside.h"
#include "halfstep/quant/prepare/float_fallback.h"

namespace halfstep::api {
namespace {

using formats::onnx::ExportForm;

/// Versions on which docs/arithmetic.md, section 9, was measured.
constexpr std::array<std::string_view, 2> kVersions = {"1.31.", "1.32."};

constexpr const char* kScript = "python/halfstep/onnxruntime_codes.py";

/// Returns the last line, which has the reason why Python ended.
std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

/// A Python process with onnxruntime sessions.
class Engine {
 public:
  explicit Engine(const std::string& python) : interpreter_(io::python_interpreter(python)) {
    if (detected_cpu_level() < CpuLevel::vnni) fail(errors::processor_without_exact_sums(name(detected_cpu_level())));
    const auto script = find_embedded(kScript);
    HS_CHECK(script.has_value());
    io::write_file(folder_ / "codes.py", *script);
    python_ = start();
    const auto version = python_->read_line();
    if (!version) fail(errors::onnxruntime_unavailable(interpreter_, last_words()));
    if (std::ranges::none_of(kVersions, [&](std::string_view known) { return version->starts_with(known); }))
      fail(errors::onnxruntime_of_other_version(interpreter_, *version,
                                                fmt::format("{}*", fmt::join(kVersions, "* or "))));
  }

  /// File of the next session.
  std::filesystem::path next_file() const { return folder_ / next_name(); }
  /// Loads this file into a session and returns the session's number.
  size_t load(bool optimized) {
    ask("load " + next_name() + (optimized ? " on" : " off"));
    return sessions_++;
  }

  /// Returns all outputs of a session, by number.
  Tensors run(size_t session, const Tensors& inputs) {
    io::write_npz(folder_ / "inputs.npz", inputs);
    ask("run " + std::to_string(session));
    return io::read_npz(folder_ / "outputs.npz");
  }

 private:
  std::unique_ptr<io::ChildProcess> start() const {
    try {
      return std::make_unique<io::ChildProcess>(
          std::vector<std::string>{interpreter_, (folder_ / "codes.py").string(), folder_.path().string()},
          folder_ / "errors");
    } catch (const Error& error) {
      fail(errors::onnxruntime_unavailable(interpreter_, error.diagnostics().front().reason()));
    }
  }
  std::string next_name() const { return "model" + std::to_string(sessions_) + ".onnx"; }
  void ask(const std::string& request) {
    if (python_->ask(request) != "ok") fail(errors::onnxruntime_failed(interpreter_, last_words()));
  }
  std::string last_words() const {
    const std::string reason = last_line(io::read_text_file(folder_ / "errors"));
    return reason.empty() ? "ended without a message" : reason;
  }

  io::TemporaryFolder folder_;
  std::string interpreter_;
  std::unique_ptr<io::ChildProcess> python_;
  size_t sessions_ = 0;
};

/// Names of the compared layers: all layers on codes.
std::vector<std::string> names_of(const verify::ExecutionPaths& paths) {
  std::vector<std::string> names;
  for (const verify::Layer& layer : paths.layers) {
    if (layer.activation_bits <= 16) names.push_back(layer.name);
  }
  return names;
}

/// Exports the program. Only operators that stay in float may be approximated.
void export_codes(const Model& integer, formats::onnx::ExportOptions options, const std::filesystem::path& path) {
  const FloatOperators& fallbacks = integer.metadata.float_operators;
  options.approximate = !fallbacks.empty();
  const auto report = formats::onnx::export_file(integer, options, path);
  const auto is_fallback = [&](const std::string& name) { return fallbacks.contains(name); };
  if (std::ranges::all_of(report.approximated, is_fallback)) return;
  options.approximate = false;
  formats::onnx::export_file(integer, options, path);
}

size_t load_program(Engine& engine, const Model& integer, const formats::onnx::ExportOptions& options, bool optimized) {
  export_codes(integer, options, engine.next_file());
  return engine.load(optimized);
}

/// Returns the codes of all layers. The file has them as outputs after the network's outputs.
verify::Engine every_layer(const std::shared_ptr<Engine>& engine, size_t session, const verify::ExecutionPaths& paths) {
  return [=, first = paths.integer.graph.outputs().size(), layers = names_of(paths)](const Tensors& inputs) {
    const Tensors all = engine->run(session, inputs);
    Tensors codes;
    for (size_t i = 0; i < layers.size(); ++i) codes[layers[i]] = all.at(std::to_string(first + i));
    return codes;
  };
}

/// A network output that is the dequantized result of a layer.
struct RealOutput {
  std::string layer, output;
  float scale;
  int32_t zero_point;

  Tensor codes(const Tensor& floats) const {
    Tensor result(DType::i32, floats.dims());
    const auto from = floats.data<float>();
    std::transform(from.begin(), from.end(), result.data<int32_t>().begin(),
                   [&](float real) { return static_cast<int32_t>(std::nearbyint(real / scale)) + zero_point; });
    return result;
  }
};

std::vector<RealOutput> real_outputs(const Model& integer) {
  std::vector<RealOutput> found;
  const auto outputs = integer.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Op op = outputs[i].producer();
    if (!op.is<ops::Dequantize>()) continue;
    const ops::Dequantize end(op.node());
    found.push_back({end.x().name(), std::to_string(i), integer.tensors.at(end.scale().name()).data<float>()[0],
                     integer.tensors.at(end.zero_point().name()).data<int32_t>()[0]});
  }
  return found;
}

/// Returns the codes that correspond to the network's outputs.
verify::Engine outputs_alone(const std::shared_ptr<Engine>& engine, size_t session,
                             const verify::ExecutionPaths& paths) {
  return [=, outputs = real_outputs(paths.integer)](const Tensors& inputs) {
    const Tensors all = engine->run(session, inputs);
    Tensors codes;
    for (const RealOutput& output : outputs) codes[output.layer] = output.codes(all.at(output.output));
    return codes;
  };
}

/// Optimizations fuse the operators between outputs. A file with every layer as an output shows where codes begin to
/// differ. A file without them shows the results that users of the network get.
void add_variants(verify::ExecutionPaths& paths, const std::shared_ptr<Engine>& engine) {
  const auto layers = names_of(paths);
  const auto add = [&](const std::string& name, ExportForm form, bool optimized, bool inner) {
    formats::onnx::ExportOptions options{.form = form, .evaluate = eager::call};
    if (inner) options.outputs = layers;
    const size_t session = load_program(*engine, paths.integer, options, optimized);
    paths.variants.push_back(
        {name, inner ? every_layer(engine, session, paths) : outputs_alone(engine, session, paths)});
  };
  add("qoperator, optimized, every layer", ExportForm::qoperator, true, true);
  add("qoperator, optimized, outputs", ExportForm::qoperator, true, false);
  add("qdq, not optimized, every layer", ExportForm::qdq, false, true);
  add("qdq, optimized, every layer", ExportForm::qdq, true, true);
  add("qdq, optimized, outputs", ExportForm::qdq, true, false);
}

/// Rejects float fallbacks that feed codes, because float sums of different engines are not bit-identical.
void require_codes(verify::ExecutionPaths& paths) {
  const auto fallbacks = quant::fallbacks_into_codes(paths.integer);
  if (!fallbacks.empty())
    fail(errors::float_layers_in_onnxruntime(paths.integer.graph.name(), quant::describe(fallbacks)));
  auto others = quant::float_fallback(paths.integer);
  for (quant::FloatFallback& one : quant::deciding_in_float(paths.integer)) others.push_back(std::move(one));
  if (!others.empty())
    paths.notes.push_back(fmt::format(
        "onnxruntime adds {} in another order; their results were not compared, because no code depends on them",
        quant::describe(others)));
}

/// Quantized values in branches and loops.
std::map<std::string, DType> codes_inside(const Model& integer) {
  std::map<std::string, DType> found;
  for (const Op op : integer.graph.all_ops()) {
    if (!is_in_region(op)) continue;
    for (const Value result : op.results()) {
      if (result.dtype() == DType::u8) found.emplace(result.name(), DType::u8);
    }
  }
  return found;
}

/// Outputs of the file: first the outputs of the network, then the layers, then the recorded values.
void add_inside(verify::ExecutionPaths& paths, const std::shared_ptr<Engine>& engine,
                const formats::onnx::Recorded& recorded, size_t session) {
  if (!recorded.left_out.empty())
    paths.notes.push_back(fmt::format(
        "onnxruntime hides values of branches and loops inside a scan; only their results were compared: {}",
        fmt::join(recorded.left_out, ", ")));
  const size_t first = paths.integer.graph.outputs().size() + names_of(paths).size();
  paths.inside = [=, values = recorded.values](const Tensors& inputs) {
    const Tensors all = engine->run(session, inputs);
    Tensors codes;
    for (size_t i = 0; i < values.size(); ++i) codes[values[i]] = all.at(std::to_string(first + i));
    return codes;
  };
}

}  // namespace

void add_onnxruntime(verify::ExecutionPaths& paths, const OnnxruntimeOptions& options) {
  require_codes(paths);
  const auto engine = std::make_shared<Engine>(options.python);
  const std::filesystem::path file = engine->next_file();
  export_codes(paths.integer, {.form = ExportForm::qoperator, .outputs = names_of(paths), .evaluate = eager::call},
               file);
  if (options.exported) formats::onnx::add_outputs(*options.exported, file);
  const auto recorded = formats::onnx::record_inside(file, codes_inside(paths.integer));
  const size_t session = engine->load(false);
  paths.engine = every_layer(engine, session, paths);
  if (!recorded.values.empty()) add_inside(paths, engine, recorded, session);
  if (options.variants) add_variants(paths, engine);
}

}  // namespace halfstep::api
