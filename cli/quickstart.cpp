#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

struct QuickstartOptions {
  Common common;
  DataArguments data;
  std::filesystem::path model;
  TargetOptions target;
  api::QuickstartRequest request;
};

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string kilobytes(int64_t bytes) { return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1000); }

void print_report(const api::QuickstartReport& report, const std::filesystem::path& out) {
  const auto shown = [&](double share) { return report.has_accuracy ? percent(share) : std::string("no labels"); };
  report::Table accuracy({"network", "accuracy", "file"});
  accuracy.add({"float", shown(report.accuracy_float), kilobytes(report.float_bytes)});
  accuracy.add({"calibrated", shown(report.accuracy_calibrated), ""});
  accuracy.add({"fine-tuned", shown(report.accuracy_finetuned), ""});
  accuracy.add({"integer", shown(report.accuracy_integer), kilobytes(report.integer_bytes)});
  report::Table time({"stage", "seconds"});
  for (const auto& [stage, seconds] : report.seconds) time.add({stage, fmt::format("{:.2f}", seconds)});
  fmt::print("\n{} on {}, {} samples ({})\n\n{}{}\n{}\n{}\n{}", report.platform, report.data, report.samples,
             report.tested, accuracy.text(), report::course_text(report.held_back), time.text(),
             report::layers_table(report.roads), report::verdict(report.roads));
  fmt::print(
      "peak memory {:.0f} MB, digest of the trained weights {}\nwrote {}/float.safetensors, prepared.safetensors, "
      "integer.safetensors, report.json\n",
      static_cast<double>(report.peak_rss_bytes) / 1e6, report.weights_digest, out.string());
}

/// Reads what the options name, and writes the report beside the Models.
api::QuickstartReport quickstart_of(QuickstartOptions& options) {
  api::QuickstartRequest& request = options.request;
  api::require_free(request);
  request.platform = options.target.platform();
  request.pad_channels = options.target.pad_channels;
  request.preprocess = options.data.preprocess;
  if (options.model.empty()) {
    request.data = api::load_data(options.data.path, io::kMaxClasses, options.data.read);
  } else {
    auto [network, data] = load_both(options.model, options.data);
    request.network = std::move(network);
    request.data = std::move(data);
  }
  api::QuickstartReport report = api::quickstart(request, options.common.settings()).report;
  report::write(report, request.out);
  return report;
}

}  // namespace

void add_quickstart(CLI::App& program, Work& work) {
  const auto options = std::make_shared<QuickstartOptions>();
  api::QuickstartRequest& request = options->request;
  request.out = "quickstart_out";
  CLI::App* command =
      add_command(program, "quickstart",
                  "Quantize, fine-tune, convert and verify: a digit classifier that it trains first, or your network",
                  "halfstep quickstart --platform magik_t40 --weights 4 --features 4 --out magik\n"
                  "         halfstep quickstart resnet.onnx --data cifar10.tar.zst --preprocess cifar10",
                  options->common);
  add_data(*command, options->data);
  command->add_option("model,--model", options->model, "float Model, ONNX or Paddle file instead of training one");
  command->add_option("--out", request.out, "folder for Models and report")->capture_default_str();
  command->add_flag("--overwrite", request.overwrite, "replace an earlier run in that folder");
  command->add_option("--epochs", request.float_epochs, "epochs of float training")
      ->check(within(limits::kEpochs))
      ->capture_default_str();
  command->add_option("--tune-epochs", request.tune_epochs, "epochs of fine-tuning; 0: calibration alone")
      ->check(within(limits::kTuneEpochs))
      ->capture_default_str();
  command->add_option("--batch", request.batch, "samples of a step")
      ->check(within(limits::kBatch))
      ->capture_default_str();
  command
      ->add_option("--learning-rate", request.tune_rate,
                   "peak rate of fine-tuning; 0.001 for your network, 0.01 for a fresh one")
      ->check(within(limits::kLearningRate));
  add_max_length(*command, request.max_length);
  add_augment(*command, request.augment);
  command->add_flag("--distill", request.distill, "fine-tuning learns from the float form, not from labels");
  add_islands_option(*command, request.convert);
  command
      ->add_option("--keep-samples", request.stored_samples,
                   "how many samples travel with the prepared Model, for verify; 0: none, for privacy")
      ->check(within(limits::kSamples))
      ->capture_default_str();
  add_target(*command, options->target, request.widths);
  command->callback([options, &work] {
    work = [options] {
      const api::QuickstartReport report = quickstart_of(*options);
      print_notes(report.notes);
      if (options->common.json) {
        fmt::print("{}", report::as_json(report));
      } else {
        print_report(report, options->request.out);
      }
      return int{report.roads.equal() ? kDone : kDifference};
    };
  });
}

}  // namespace halfstep::cli
