#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

struct RunReport {
  api::RunResult result;                     ///< of test data the last set's
  std::vector<api::Comparison> comparisons;  ///< of test data with the name of its set before it: "test_data_set_0/y"
  bool equal() const {
    return std::ranges::all_of(comparisons, [](const api::Comparison& c) { return c.differing == 0; });
  }
};

void print_json(const RunReport& report) {
  nlohmann::ordered_json json;
  for (const auto& [name, tensor] : report.result.outputs) json["outputs"][name] = to_string(tensor.type());
  json["equal"] = report.equal();
  if (!report.result.milliseconds.empty()) json["milliseconds"] = report.result.milliseconds;
  for (const api::Comparison& c : report.comparisons)
    json["comparisons"].push_back({{"tensor", c.tensor},
                                   {"elements", c.elements},
                                   {"differing", c.differing},
                                   {"largest_difference", c.largest_difference}});
  if (!report.result.notes.empty()) json["notes"] = report.result.notes;
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));  // names as a file has them
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
  for (const api::Comparison& c : report.comparisons)
    table.add(
        {c.tensor, std::to_string(c.elements), std::to_string(c.differing), fmt::format("{:g}", c.largest_difference)});
  fmt::print("\n{}", table.text());
  for (const api::Comparison& c : report.comparisons) {
    if (c.differing > 0)
      fmt::print("{}: first differs at {}: found {}, expected {}\n", c.tensor, to_string(c.first_position),
                 c.first_found, c.first_expected);
  }
}

struct RunArguments {
  Common common;
  std::filesystem::path model, inputs, expect, test_data;
  OutFile outputs;
  std::vector<std::filesystem::path> traces;
  std::string place = "cpu";
  api::RunOptions run;
  api::Tolerance tolerance;
};

bool is_log(const std::filesystem::path& trace) { return trace.extension() == ".log"; }

/// Before any work: files that can be written, of a kind that there is.
std::vector<OutFile> required_traces(const RunArguments& arguments) {
  std::vector<OutFile> traces;
  for (const auto& path : arguments.traces) {
    if (path.extension() != ".json" && !is_log(path))
      fail(errors::wrong_extension(path.string(), path.extension().string(), ".json for a trace or .log for a log"));
    traces.push_back({path, arguments.outputs.overwrite});
    traces.back().require();
  }
  return traces;
}

void write_traces(const RunArguments& arguments, const RunReport& report) {
  for (const auto& path : arguments.traces)
    io::write_file(path,
                   is_log(path) ? report::as_log(*report.result.trace) : report::as_chrome_trace(*report.result.trace));
}

api::RunOptions run_options(const RunArguments& arguments, const std::filesystem::path& source) {
  api::RunOptions options = arguments.run;
  options.place = parse_device(arguments.place);
  options.source = source.string();
  options.trace = !arguments.traces.empty();
  return options;
}

/// Every set of a folder in ONNX's layout.
RunReport run_test_data(const RunArguments& arguments) {
  const auto file = formats::open(arguments.model);
  const api::Tolerance tolerance = api::read_tolerance(arguments.test_data, arguments.tolerance);
  RunReport report;
  for (const api::TestSet& set : api::read_test_data(arguments.test_data, file->summary())) {
    const auto options = run_options(arguments, arguments.test_data / set.name);
    report.result = api::run(*file, set.inputs, options, arguments.common.settings());
    for (api::Comparison& comparison : api::compare(report.result.outputs, set.outputs, tolerance)) {
      comparison.tensor = set.name + "/" + comparison.tensor;
      report.comparisons.push_back(std::move(comparison));
    }
  }
  return report;
}

RunReport run_tensors(const RunArguments& arguments) {
  const bool foreign = formats::is_foreign(arguments.model);
  if (!foreign && arguments.inputs.empty()) fail(errors::run_without_inputs(arguments.model.string()));
  const Tensors inputs = arguments.inputs.empty() ? Tensors() : api::read_tensors(arguments.inputs);
  const Tensors expected = arguments.expect.empty() ? Tensors() : api::read_tensors(arguments.expect);
  const auto settings = arguments.common.settings();
  RunReport report;
  const auto options = run_options(arguments, arguments.inputs.empty() ? arguments.model : arguments.inputs);
  report.result = foreign ? api::run(*formats::open(arguments.model), inputs, options, settings)
                          : api::run(api::load(arguments.model), inputs, options, settings);
  report.comparisons =
      about(arguments.expect, [&] { return api::compare(report.result.outputs, expected, arguments.tolerance); });
  return report;
}

RunReport run_all(RunArguments& arguments) {
  (void)parse_device(arguments.place);
  arguments.outputs.require();
  const std::vector<OutFile> traces = required_traces(arguments);
  api::require_tensor_file(arguments.outputs.path);
  if (!arguments.test_data.empty() && !formats::is_foreign(arguments.model))
    fail(errors::test_data_of_model(arguments.model.string()));
  RunReport report = arguments.test_data.empty() ? run_tensors(arguments) : run_test_data(arguments);
  if (!arguments.outputs.path.empty()) api::write_tensors(arguments.outputs.path, report.result.outputs);
  write_traces(arguments, report);
  return report;
}

}  // namespace

void add_run(CLI::App& program, Work& work) {
  const auto options = std::make_shared<RunArguments>();
  CLI::App* command =
      add_command(program, "run", "Run a Model, or a file of ONNX or Paddle, on named tensors and compare its outputs",
                  "halfstep run model.safetensors --inputs x.npz --expect y.npz --rtol 1e-4\n"
                  "         halfstep run model.onnx --test-data FOLDER\n"
                  "         halfstep run model.safetensors --inputs x.npz --trace run.json,run.log",
                  options->common);
  command->add_option("model", options->model, "Model of any stage, or a file of ONNX or Paddle")->required();
  auto* inputs = command->add_option("--inputs", options->inputs,
                                     "safetensors or npz, tensors by name, or npy for a network of one input");
  command
      ->add_option("--test-data", options->test_data,
                   "folder with test_data_set_*/input_*.pb and output_*.pb; tolerance.json beside them comes before "
                   "--rtol and --atol")
      ->excludes(inputs);
  add_out_file(*command, options->outputs, "--outputs", "file for the outputs: .safetensors or .npz");
  command
      ->add_option("--trace", options->traces,
                   "each instruction with its operator, place, time, shapes and ranges: .json for chrome://tracing or "
                   "Perfetto, .log for a log; both may be named. With --repeat times are those of the last run, which "
                   "nothing else slows down")
      ->delimiter(',')
      ->type_name("FILE");
  command->add_option("--expect", options->expect, "file with expected outputs; a difference exits with 1");
  auto* relative = command->add_option("--rtol", options->tolerance.relative, "relative tolerance")
                       ->check(within(limits::kTolerance))
                       ->capture_default_str();
  auto* absolute = command->add_option("--atol", options->tolerance.absolute, "absolute tolerance")
                       ->check(within(limits::kTolerance))
                       ->capture_default_str();
  command->add_flag("--exact", options->tolerance.exact, "every bit must agree")
      ->excludes(relative)
      ->excludes(absolute);
  command->add_option("--repeat", options->run.repeat, "further runs whose times are reported")
      ->check(within(limits::kRepeats));
  add_max_iterations(*command, options->run.max_iterations);
  command->add_option("--place", options->place, "cpu, sim, cuda or cuda:N")->capture_default_str();
  command->callback([options, &work] {
    work = [options] {
      const RunReport report = run_all(*options);
      if (!options->common.json) print_notes(report.result.notes);
      options->common.json ? print_json(report) : print_text(report);
      return int{report.equal() ? kDone : kDifference};
    };
  });
}

}  // namespace halfstep::cli
