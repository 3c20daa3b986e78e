#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

std::string accuracy_text(const TrainReport& report) {
  if (!report.accuracy) return fmt::format("{} samples without labels, ", report.samples);
  return fmt::format("accuracy {:.2f} % of {} test samples, ", 100 * *report.accuracy, report.samples);
}

int train_and_report(const TrainRequest& request, const Common& common) {
  const TrainReport report = train_model(request, common.settings());
  if (common.json) {
    const nlohmann::ordered_json json = {
        {"digest", report.digest},
        {"accuracy", report.accuracy ? nlohmann::ordered_json(*report.accuracy) : nullptr},
        {"loss", report.loss},
        {"samples", report.samples},
        {"first_epoch", report.first_epoch},
        {"epochs", report.epochs},
        {"was_finished", report.was_finished}};
    fmt::print("{}\n", json.dump(2));
  } else if (report.was_finished) {
    fmt::print("{}: finished already after {} epochs, nothing changed; {}digest {}\n", request.out.string(),
               report.epochs, accuracy_text(report), report.digest);
  } else {
    fmt::print("{}loss {:.4f}, digest {}\nwrote {}\n", accuracy_text(report), report.loss, report.digest,
               (request.out / "model.safetensors").string());
  }
  return kDone;
}

}  // namespace

void add_train(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    TrainRequest request;
  };
  const auto options = std::make_shared<Options>();
  TrainRequest& request = options->request;
  CLI::App* command =
      add_command(program, "train", "Train a network, float or prepared, on labelled samples",
                  "halfstep train --data digits.csv.gz --network digits --epochs 20 --out run1", options->common);
  command->add_option("--data", request.data,
                      "csv[.gz], IDX, image folder or archive, safetensors or npz; the embedded digits without it");
  auto* network =
      command->add_option("--network", request.network, "built-in network or .ir file")->capture_default_str();
  command->add_option("--model", request.model, "float or prepared Model to go on from")->excludes(network);
  command->add_option("--epochs", request.epochs, "passes over the training part")->capture_default_str();
  command->add_option("--batch", request.batch, "samples of a step")->capture_default_str();
  command->add_option("--learning-rate", request.learning_rate,
                      "peak of the cosine schedule; 0.05 for float networks, 0.001 for prepared ones");
  command->add_option("--out", request.out, "folder for checkpoints and the result")->required();
  command->add_flag("--resume", request.resume, "go on from the last checkpoint");
  command->callback(
      [options, &work] { work = [options] { return train_and_report(options->request, options->common); }; });
}

}  // namespace halfstep::cli
