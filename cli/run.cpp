#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

struct RunReport {
  api::RunResult result;                           ///< for test data: results of the last set
  std::vector<api::TensorComparison> comparisons;  ///< for test data: names begin with the set, "test_data_set_0/y"
  bool equal() const {
    return std::ranges::all_of(comparisons, [](const api::TensorComparison& c) { return c.differing == 0; });
  }
};

void print_json(const RunReport& report) {
  nlohmann::ordered_json json;
  for (const auto& [name, tensor] : report.result.outputs) json["outputs"][name] = to_string(tensor.type());
  json["equal"] = report.equal();
  if (!report.result.milliseconds.empty()) json["milliseconds"] = report.result.milliseconds;
  for (const api::TensorComparison& c : report.comparisons)
    json["comparisons"].push_back({{"tensor", c.tensor},
                                   {"elements", c.elements},
                                   {"differing", c.differing},
                                   {"largest_difference", c.largest_difference}});
  if (!report.result.notes.empty()) json["notes"] = report.result.notes;
  fmt::print("{}", report::to_text(json));
}

void print_text(const RunReport& report) {
  report::Table outputs({"output", "type"});
  for (const auto& [name, tensor] : report.result.outputs) outputs.add({name, to_string(tensor.type())});
  fmt::print("{}", outputs.text());
  if (!report.result.milliseconds.empty()) {
    std::vector<double> sorted = report.result.milliseconds;
    std::sort(sorted.begin(), sorted.end());
    fmt::print("\n{} runs: median {:.3f} ms, fastest {:.3f} ms\n", sorted.size(), sorted[sorted.size() / 2], sorted[0]);
  }
  if (report.comparisons.empty()) return;
  report::Table table({"compared", "elements", "differing", "largest difference"});
  for (const api::TensorComparison& c : report.comparisons)
    table.add(
        {c.tensor, std::to_string(c.elements), std::to_string(c.differing), fmt::format("{:g}", c.largest_difference)});
  fmt::print("\n{}", table.text());
  for (const api::TensorComparison& c : report.comparisons) {
    if (c.differing > 0)
      fmt::print("{}: first differs at {}: found {}, expected {}\n", c.tensor, to_string(c.first_position),
                 c.first_found, c.first_expected);
  }
}

bool is_log(const std::filesystem::path& trace) { return trace.extension() == ".log"; }

/// Checks before any work that the files can be written and have a supported extension.
std::vector<std::optional<io::Claim>> required_traces(const api::RunCommand& command) {
  std::vector<std::optional<io::Claim>> claims;
  for (const auto& path : command.trace) {
    if (path.extension() != ".json" && !is_log(path))
      fail(errors::wrong_extension(path.string(), path.extension().string(), ".json for a trace or .log for a log"));
    claims.push_back(require({path, command.outputs.overwrite}));
  }
  return claims;
}

void write_traces(const api::RunCommand& command, const RunReport& report) {
  for (const auto& path : command.trace)
    io::write_file(path,
                   is_log(path) ? report::as_log(*report.result.trace) : report::as_chrome_trace(*report.result.trace));
}

api::RunOptions run_options(const api::RunCommand& command, const std::filesystem::path& source) {
  api::RunOptions options = command.options;
  options.source = source.string();
  options.trace = !command.trace.empty();
  return options;
}

/// Runs every set of a folder in ONNX's layout.
RunReport run_test_data(const api::RunCommand& command) {
  const auto file = formats::open(command.model);
  const api::Tolerance tolerance = api::read_tolerance(command.test_data, command.tolerance);
  RunReport report;
  for (const api::TestSet& set : api::read_test_data(command.test_data, file->summary())) {
    const auto options = run_options(command, command.test_data / set.name);
    report.result = api::run(*file, set.inputs, options, settings_of(command.common));
    for (api::TensorComparison& comparison : api::compare(report.result.outputs, set.outputs, tolerance)) {
      comparison.tensor = set.name + "/" + comparison.tensor;
      report.comparisons.push_back(std::move(comparison));
    }
  }
  return report;
}

RunReport run_tensors(const api::RunCommand& command) {
  const bool foreign = formats::is_foreign(command.model);
  if (!foreign && command.inputs.empty()) fail(errors::run_without_inputs(command.model.string()));
  const Tensors inputs = command.inputs.empty() ? Tensors() : api::read_tensors(command.inputs);
  const Tensors expected = command.expect.empty() ? Tensors() : api::read_tensors(command.expect);
  const auto settings = settings_of(command.common);
  RunReport report;
  const auto options = run_options(command, command.inputs.empty() ? command.model : command.inputs);
  report.result = foreign ? api::run(*formats::open(command.model), inputs, options, settings)
                          : api::run(api::load(command.model), inputs, options, settings);
  report.comparisons =
      about(command.expect, [&] { return api::compare(report.result.outputs, expected, command.tolerance); });
  return report;
}

RunReport run_all(const api::RunCommand& command) {
  const auto claim = require(command.outputs);
  const auto claims = required_traces(command);
  api::require_tensor_file(command.outputs.path);
  if (!command.test_data.empty() && !formats::is_foreign(command.model))
    fail(errors::test_data_of_model(command.model.string()));
  RunReport report = command.test_data.empty() ? run_tensors(command) : run_test_data(command);
  if (!command.outputs.path.empty()) api::write_tensors(command.outputs.path, report.result.outputs);
  write_traces(command, report);
  return report;
}

int run_network(api::RunCommand& command, const Given&) {
  const RunReport report = run_all(command);
  if (!command.common.json) print_notes(report.result.notes);
  command.common.json ? print_json(report) : print_text(report);
  return report.equal() ? kDone : kDifference;
}

}  // namespace

void add_run(const Program& program) { add_verb<api::RunCommand>(program, run_network); }

}  // namespace halfstep::cli
