#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/table.h"

namespace halfstep::cli {
namespace {

void print_json(const RunReport& report) {
  nlohmann::ordered_json json;
  for (const auto& [name, tensor] : report.outputs) json["outputs"][name] = to_string(tensor.type());
  json["equal"] = report.equal();
  if (!report.milliseconds.empty()) json["milliseconds"] = report.milliseconds;
  for (const RunComparison& c : report.comparisons)
    json["comparisons"].push_back({{"tensor", c.tensor},
                                   {"elements", c.elements},
                                   {"differing", c.differing},
                                   {"largest_difference", c.largest_difference}});
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));  // names as a file has them
}

void print_text(const RunReport& report) {
  Table outputs({"output", "type"});
  for (const auto& [name, tensor] : report.outputs) outputs.add({name, to_string(tensor.type())});
  fmt::print("{}", outputs.text());
  if (!report.milliseconds.empty()) {
    std::vector<double> sorted = report.milliseconds;
    std::sort(sorted.begin(), sorted.end());
    fmt::print("\n{} runs: median {:.3f} ms, fastest {:.3f} ms\n", sorted.size(), sorted[sorted.size() / 2], sorted[0]);
  }
  if (report.comparisons.empty()) return;
  Table table({"compared", "elements", "differing", "largest difference"});
  for (const RunComparison& c : report.comparisons)
    table.add(
        {c.tensor, std::to_string(c.elements), std::to_string(c.differing), fmt::format("{:g}", c.largest_difference)});
  fmt::print("\n{}", table.text());
  for (const RunComparison& c : report.comparisons) {
    if (c.differing > 0)
      fmt::print("{}: first differs at {}: found {}, expected {}\n", c.tensor, to_string(c.first_position),
                 c.first_found, c.first_expected);
  }
}

}  // namespace

void add_run(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    RunRequest request;
  };
  const auto options = std::make_shared<Options>();
  RunRequest& request = options->request;
  CLI::App* command =
      add_command(program, "run", "Run a Model, or a file of ONNX or Paddle, on named tensors and compare its outputs",
                  "halfstep run model.safetensors --inputs x.npz --expect y.npz --rtol 1e-4\n"
                  "         halfstep run model.onnx --test-data FOLDER",
                  options->common);
  command->add_option("model", request.model, "Model of any stage, or a file of ONNX or Paddle")->required();
  auto* inputs = command->add_option("--inputs", request.inputs, "safetensors or npz, tensors by name");
  command
      ->add_option("--test-data", request.test_data,
                   "folder with test_data_set_*/input_*.pb and output_*.pb; tolerance.json beside them comes before "
                   "--rtol and --atol")
      ->excludes(inputs);
  command->add_option("--outputs", request.outputs, "file for the outputs");
  command->add_option("--expect", request.expect, "file with expected outputs; a difference exits with 1");
  auto* relative = command->add_option("--rtol", request.relative, "relative tolerance")->capture_default_str();
  auto* absolute = command->add_option("--atol", request.absolute, "absolute tolerance")->capture_default_str();
  command->add_flag("--exact", request.exact, "every bit must agree")->excludes(relative)->excludes(absolute);
  command->add_option("--repeat", request.repeat, "time so many further runs")->check(CLI::Range(0, 1'000'000));
  command->add_option("--place", request.place, "cpu, sim, cuda or cuda:N")->capture_default_str();
  command->callback([options, &work] {
    work = [options] {
      const RunReport report = run_model(options->request, options->common.settings());
      options->common.json ? print_json(report) : print_text(report);
      return int{report.equal() ? kDone : kDifference};
    };
  });
}

}  // namespace halfstep::cli
