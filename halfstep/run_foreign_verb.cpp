#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/base/nearest.h"
#include "halfstep/comparison.h"
#include "halfstep/compile/compile.h"
#include "halfstep/data.h"
#include "halfstep/eager/call.h"
#include "halfstep/foreign_verb.h"
#include "halfstep/formats/onnx/file.h"
#include "halfstep/io/file.h"
#include "halfstep/timed_run.h"

namespace halfstep {
namespace {

/// Inputs that the file does not name, and those without a default that are missing.
void check_inputs(const formats::Summary& summary, const Tensors& inputs, const std::string& where) {
  std::vector<std::string> names;
  for (const formats::Port& port : summary.inputs) names.push_back(port.name);
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("{}: tensor '{}' is no input of the network{}", where, name, did_you_mean(name, names));
  }
  for (const formats::Port& port : summary.inputs) {
    if (!port.is_tensor) unsupported("{}: input '{}' is a {}, only tensors are supported", where, port.name, port.type);
    if (!port.has_default && !inputs.contains(port.name))
      fail("{}: input '{}' ({}) of the network is missing", where, port.name, port.type);
  }
}

/// One file, opened once, run on inputs of any extents. It runs in the mode that it says, be it training.
class Runner {
 public:
  Runner(const RunRequest& request, const Settings& settings)
      : file_(formats::open(request.model)), summary_(file_->summary()), pool_(settings.threads) {
    options_.place = place_of(request.place);
  }

  const formats::Summary& summary() const { return summary_; }

  void run(const Tensors& inputs, const std::string& where, int64_t repeat, RunReport& report) {
    check_inputs(summary_, inputs, where);
    formats::Binding binding;
    binding.values = inputs;
    binding.evaluate = eager::call;
    const Model model = file_->import(binding);
    Tensors fed;
    for (const Value argument : model.graph.arguments()) fed.emplace(argument.name(), inputs.at(argument.name()));
    runtime::Program program = compile(model, options_);
    run_timed(program, fed, repeat, pool_, report);
  }

 private:
  std::shared_ptr<const formats::File> file_;
  formats::Summary summary_;
  CompileOptions options_;
  ThreadPool pool_;
};

bool has_tolerance(DType dtype) { return is_float(dtype) || is_small_float(dtype); }

/// Another type is a difference of every element.
RunComparison compare_typed(const std::string& name, const Tensor& found, const Tensor& expected, Tolerance tolerance) {
  if (found.type() != expected.type()) {
    const std::string what =
        fmt::format("{}: {}, expected {}", name, to_string(found.type()), to_string(expected.type()));
    return {what, expected.size(), std::max<int64_t>(expected.size(), 1), 0, {}, 0, 0};
  }
  if (!has_tolerance(found.dtype())) tolerance = {0, 0, true};
  return compare(name, found, expected, tolerance);
}

Tolerance tolerance_of(const RunRequest& request) {
  const auto path = request.test_data / "tolerance.json";
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return {request.relative, request.absolute, request.exact};
  const auto json = nlohmann::json::parse(io::read_text_file(path), nullptr, false);
  const auto number = [&](const char* key, double otherwise) {
    if (!json.is_object() || !json.contains(key)) return otherwise;
    if (!json[key].is_number()) fail("{}: {} is no number", path.string(), key);
    return json[key].get<double>();
  };
  return {number("rtol", request.relative), number("atol", request.absolute), request.exact};
}

/// PREFIX_K.pb, as ONNX has tensors, by name of port K; what has no file is left out.
Tensors read_set(const std::filesystem::path& folder, const std::string& prefix,
                 const std::vector<formats::Port>& ports) {
  Tensors tensors;
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto path = folder / fmt::format("{}_{}.pb", prefix, i);
    std::error_code failed;
    if (!std::filesystem::exists(path, failed) || ports[i].name.empty()) continue;
    if (!ports[i].is_tensor)
      unsupported("{}: '{}' is a {}, only tensors are supported", path.string(), ports[i].name, ports[i].type);
    tensors[ports[i].name] = formats::onnx::read_tensor_file(path);
  }
  return tensors;
}

std::vector<std::filesystem::path> sets_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> sets;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::error_code gone;
    if (entry.is_directory(gone) && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  }
  if (failed || sets.empty()) fail("{}: found no folder test_data_set_*", folder.string());
  std::sort(sets.begin(), sets.end());
  return sets;
}

void run_test_data(Runner& runner, const RunRequest& request, RunReport& report) {
  const Tolerance tolerance = tolerance_of(request);
  for (const auto& set : sets_in(request.test_data)) {
    const Tensors inputs = read_set(set, "input", runner.summary().inputs);
    const Tensors expected = read_set(set, "output", runner.summary().outputs);
    if (expected.empty()) fail("{}: found no output_*.pb", set.string());
    runner.run(inputs, set.string(), request.repeat, report);
    for (const auto& [name, tensor] : expected)
      report.comparisons.push_back(
          compare_typed(set.filename().string() + "/" + name, report.outputs.at(name), tensor, tolerance));
  }
}

}  // namespace

RunReport run_foreign(const RunRequest& request, const Settings& settings) {
  Runner runner(request, settings);
  RunReport report;
  if (!request.test_data.empty()) {
    run_test_data(runner, request, report);
  } else {
    const Tensors inputs = request.inputs.empty() ? Tensors() : read_tensors(request.inputs);
    const Tensors expected = request.expect.empty() ? Tensors() : read_tensors(request.expect);
    runner.run(inputs, request.inputs.empty() ? request.model.string() : request.inputs.string(), request.repeat,
               report);
    for (const auto& [name, tensor] : expected) {
      const auto found = report.outputs.find(name);
      if (found == report.outputs.end())
        fail("{}: tensor '{}' is no output of the network", request.expect.string(), name);
      report.comparisons.push_back(
          compare_typed(name, found->second, tensor, {request.relative, request.absolute, request.exact}));
    }
  }
  if (!request.outputs.empty()) write_tensors(request.outputs, report.outputs);
  return report;
}

}  // namespace halfstep
