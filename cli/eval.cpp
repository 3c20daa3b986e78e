#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace halfstep::cli {

void add_eval(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    std::string data;
    PreprocessOptions preprocess;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "eval", "Accuracy of a Model on the test part of a data set",
                                  "halfstep eval quickstart_out/integer.safetensors", options->common);
  command->add_option("model,--model", options->model, "Model of any stage, or an ONNX or Paddle file")->required();
  command->add_option("--data", options->data, "labelled samples; the embedded digits without it");
  add_preprocess(*command, options->preprocess);
  command->callback([options, &work] {
    work = [options] {
      const auto preprocess = options->preprocess.given();
      const auto [network, data] = api::load_both(options->model, options->data, preprocess);
      const api::Evaluation report = api::evaluate(network, data, preprocess, options->common.settings());
      if (options->common.json) {
        fmt::print("{}\n",
                   nlohmann::ordered_json(
                       {{"stage", name(report.stage)}, {"accuracy", report.accuracy}, {"samples", report.samples}})
                       .dump(2));
      } else {
        fmt::print("{} network: accuracy {:.2f} % of {} test samples\n", name(report.stage), 100 * report.accuracy,
                   report.samples);
      }
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
