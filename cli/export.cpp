#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

void print_report(const ExportRequest& request, const ExportReport& report, bool as_json) {
  if (as_json) {
    fmt::print("{}\n",
               nlohmann::ordered_json({{"nodes", report.nodes}, {"approximated", report.approximated}}).dump(2));
    return;
  }
  if (!report.approximated.empty())
    fmt::print("codes may differ from the Model's at {} layers: {}\n", report.approximated.size(),
               fmt::join(report.approximated, ", "));
  fmt::print("wrote {}: {} nodes\n", request.out.string(), report.nodes);
}

}  // namespace

void add_export(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    ExportRequest request;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(program, "export", "Write a Model as an ONNX file",
                  "halfstep export integer.safetensors --format qoperator --out model.onnx", options->common);
  command->add_option("model", options->request.model, "Model, or of --format float a foreign file")->required();
  command->add_option("--format", options->request.format, "float, qdq or qoperator")->capture_default_str();
  command->add_option("--opset", options->request.opset, "version of ONNX's operators, 13 to 25")
      ->capture_default_str();
  command->add_option("--out", options->request.out, "ONNX file to write")->required();
  command->add_flag("--approximate", options->request.approximate,
                    "write the nearest where the format lacks the Model's arithmetic");
  command->callback([options, &work] {
    work = [options] {
      print_report(options->request, export_model(options->request), options->common.json);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
