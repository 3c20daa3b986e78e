#include <fmt/format.h>

#include <utility>

#include "cli/command.h"

namespace halfstep::cli {

void add_analyze(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    DataArguments data;
    TargetOptions target;
    api::AnalyzeOptions analyze;
    std::string part = "test";
    bool no_observers = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(program, "analyze",
                  "Find where a quantized network loses: every quantizer alone and all but it, with suggestions",
                  "halfstep analyze prepared.safetensors --data digits.csv.gz", options->common);
  command
      ->add_option("model,--model", options->model,
                   "prepared Model; or float Model, ONNX or Paddle file with --platform")
      ->required();
  add_data(*command, options->data);
  options->data.read.samples = options->analyze.how.samples;
  command->get_option("--samples")
      ->description("how many samples are looked at, at most, drawn by --seed; 0: all")
      ->capture_default_str();
  command->add_option("--part", options->part, "of the data: test, or train where a choice is to be made of the result")
      ->check(one_of({"test", "train"}))
      ->capture_default_str();
  command
      ->add_option("--directions", options->analyze.how.directions,
                   "that the trace of the Hessian is estimated along; 0: no gradients")
      ->check(within(limits::kDirections))
      ->capture_default_str();
  command
      ->add_option("--tries", options->analyze.tries,
                   "options of quantize that are tried, at most, before they are suggested")
      ->check(within(limits::kTries))
      ->capture_default_str();
  command->add_flag("--no-observers", options->no_observers, "leave out the ranges that other observers would choose");
  add_target(*command, options->target, options->analyze.quantize.widths);
  CLI::Option* platform = command->get_option("--platform");
  platform->default_str("");
  command->callback([options, platform, &work] {
    const bool is_named = platform->count() > 0;
    work = [options, is_named] {
      api::AnalyzeOptions& how = options->analyze;
      if (is_named) how.platform = options->target.platform();
      how.quantize.pad_channels = options->target.pad_channels;
      how.quantize.regions = options->target.regions;
      how.quantize.preprocess = options->data.preprocess;
      how.on_training = options->part == "train";
      how.how.observers = !options->no_observers;
      how.how.samples = std::exchange(options->data.read.samples, 0);
      const auto [network, data] = load_both(options->model, options->data);
      const api::Analysis analysis = api::analyze(network, data, how, options->common.settings());
      print_notes(analysis.result.notes);
      fmt::print("{}", options->common.json ? report::as_json(analysis) : report::as_text(analysis));
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
