#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

nlohmann::ordered_json json_of(const api::Evaluation& report, int64_t top) {
  nlohmann::ordered_json json = {{"stage", name(report.stage)}, {"accuracy", report.accuracy}, {"loss", report.loss},
                                 {"samples", report.samples},   {"tested", report.tested},     {"notes", report.notes}};
  if (report.top) json["top"] = {{"outputs", top}, {"accuracy", *report.top}};
  return json;
}

}  // namespace

void add_eval(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    DataArguments data;
    int64_t top = 1;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "eval", "Accuracy of a Model on the test part of a data set",
                                  "halfstep eval quickstart_out/integer.safetensors", options->common);
  command->add_option("model,--model", options->model, "Model of any stage, or an ONNX or Paddle file")->required();
  add_data(*command, options->data);
  command->add_option("--top", options->top, "also the share of samples whose label is among this many largest outputs")
      ->check(within(limits::kTop));
  command->callback([options, &work] {
    work = [options] {
      const auto [network, data] = load_both(options->model, options->data);
      const api::EvaluateOptions how{options->data.preprocess, options->top};
      const api::Evaluation report = api::evaluate(network, data, how, options->common.settings());
      print_notes(report.notes);
      if (options->common.json) {
        fmt::print("{}\n", json_of(report, options->top).dump(2));
      } else {
        fmt::print("{} network: accuracy {:.2f} %{}, loss {:.4f} of {} samples: {}\n", name(report.stage),
                   100 * report.accuracy,
                   report.top ? fmt::format(", top {} {:.2f} %", options->top, 100 * *report.top) : "", report.loss,
                   report.samples, report.tested);
      }
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
