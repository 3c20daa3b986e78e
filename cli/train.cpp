#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/course.h"
#include "cli/table.h"

namespace halfstep::cli {
namespace {

std::string accuracy_text(const api::Trained& report) {
  if (!report.accuracy) return fmt::format("{} samples without labels, ", report.samples);
  return fmt::format("accuracy {:.2f} % of {} test samples, ", 100 * *report.accuracy, report.samples);
}

nlohmann::ordered_json as_json(const api::Trained& report) {
  nlohmann::ordered_json json = {{"digest", report.digest},
                                 {"accuracy", report.accuracy ? nlohmann::ordered_json(*report.accuracy) : nullptr},
                                 {"loss", report.loss},
                                 {"samples", report.samples},
                                 {"first_epoch", report.first_epoch},
                                 {"epochs", report.epochs},
                                 {"was_finished", report.was_finished},
                                 {"step_milliseconds", report.step_milliseconds}};
  if (!report.held_back.standings.empty())
    json["held_back"] = nlohmann::ordered_json::parse(train::to_text(report.held_back));
  for (const train::OperatorTime& time : report.operators)
    json["operators"].push_back(
        {{"operator", time.op}, {"kernel", time.kernel}, {"calls", time.calls}, {"milliseconds", time.milliseconds}});
  return json;
}

std::string operators_table(const api::Trained& report) {
  double all = 0;
  for (const train::OperatorTime& time : report.operators) all += time.milliseconds;
  Table table({"operator", "kernel", "calls", "ms of a step", "share %"});
  for (const train::OperatorTime& time : report.operators)
    table.add({time.op, time.kernel, fmt::format("{:g}", time.calls), fmt::format("{:.3f}", time.milliseconds),
               fmt::format("{:.1f}", 100 * time.milliseconds / all)});
  return "\n" + table.text();
}

struct TrainArguments {
  Common common;
  std::string data, network = "digits";
  std::filesystem::path model;
  api::TrainOptions train;
};

api::Trained trained(const TrainArguments& arguments) {
  io::require_folder_target(arguments.train.folder);
  api::TrainOptions options = arguments.train;
  options.keeps_best = !arguments.model.empty();
  if (options.keeps_best) {
    const auto [network, data] = api::load_both(arguments.model, arguments.data);
    return api::train(network, data, options, arguments.common.settings());
  }
  const api::Dataset data = api::load_data(arguments.data);
  const Model network = api::create_network(arguments.network, data, arguments.common.seed);
  return api::train(network, data, options, arguments.common.settings());
}

int train_and_report(const TrainArguments& arguments) {
  const Common& common = arguments.common;
  const std::filesystem::path& out = arguments.train.folder;
  const api::Trained report = trained(arguments);
  if (common.json) {
    fmt::print("{}\n", as_json(report).dump(2));
  } else if (report.was_finished) {
    fmt::print("{}: finished already after {} epochs, nothing changed; {}digest {}\n", out.string(), report.epochs,
               accuracy_text(report), report.digest);
  } else {
    fmt::print("{}{}loss {:.4f}, {:.1f} ms a step, digest {}\nwrote {}\n", course_text(report.held_back),
               accuracy_text(report), report.loss, report.step_milliseconds, report.digest,
               (out / "model.safetensors").string());
    if (!report.operators.empty()) fmt::print("{}", operators_table(report));
  }
  return kDone;
}

}  // namespace

void add_train(CLI::App& program, Work& work) {
  const auto options = std::make_shared<TrainArguments>();
  api::TrainOptions& train = options->train;
  CLI::App* command =
      add_command(program, "train", "Train a network, float or prepared, on labelled samples",
                  "halfstep train --data digits.csv.gz --network digits --epochs 20 --out run1", options->common);
  command->add_option("--data", options->data,
                      "csv[.gz], IDX, image folder or archive, safetensors or npz; the embedded digits without it");
  auto* network =
      command->add_option("--network", options->network, "built-in network or .ir file")->capture_default_str();
  command->add_option("--model", options->model, "float or prepared Model to go on from, which never becomes worse")
      ->excludes(network);
  command->add_option("--epochs", train.epochs, "passes over the training part")->capture_default_str();
  command->add_option("--batch", train.batch, "samples of a step")->capture_default_str();
  command->add_option("--learning-rate", train.learning_rate,
                      "peak of the cosine schedule; 0.05 for float networks, 0.001 for prepared ones");
  add_augment(*command, train.augment);
  command->add_flag("--distill", train.distill,
                    "a prepared network learns from its float form, as it does where there are no labels");
  command->add_option("--out", train.folder, "folder for checkpoints and the result")->required();
  command->add_flag("--resume", train.resume, "go on from the last checkpoint");
  command->add_flag("--profile", train.profile, "say which operators take the time of a step");
  command->callback([options, &work] { work = [options] { return train_and_report(*options); }; });
}

}  // namespace halfstep::cli
