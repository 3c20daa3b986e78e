#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

struct TrainArguments {
  Common common;
  DataArguments data;
  std::string network = "digits";
  std::filesystem::path model;
  api::TrainOptions train;
};

api::Trained trained(const TrainArguments& arguments) {
  io::require_folder_target(arguments.train.folder);
  api::TrainOptions options = arguments.train;
  options.preprocess = arguments.data.preprocess;
  options.keeps_best = !arguments.model.empty();
  if (options.keeps_best) {
    const auto [network, data] = load_both(arguments.model, arguments.data);
    return api::train(network, data, options, arguments.common.settings());
  }
  const api::Dataset data = api::load_data(arguments.data.path, io::kMaxClasses, arguments.data.read);
  const Model network = api::create_network(arguments.network, data, arguments.common.seed, options.preprocess);
  return api::train(network, data, options, arguments.common.settings());
}

int train_and_report(const TrainArguments& arguments) {
  const Common& common = arguments.common;
  const std::filesystem::path& out = arguments.train.folder;
  const api::Trained result = trained(arguments);
  print_notes(result.notes);
  if (common.json) {
    fmt::print("{}", report::as_json(result));
  } else if (result.was_finished) {
    fmt::print("{}: {}", out.string(), report::as_text(result));
  } else {
    fmt::print("{}wrote {}\n", report::as_text(result), (out / "model.safetensors").string());
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
  add_data(*command, options->data);
  auto* network =
      command->add_option("--network", options->network, "built-in network or .ir file")->capture_default_str();
  command
      ->add_option("model,--model", options->model,
                   "float or prepared Model, or an ONNX or Paddle file, to go on from; it never becomes worse")
      ->excludes(network);
  command->add_option("--epochs", train.epochs, "how often every training sample is seen")->capture_default_str();
  command->add_option("--batch", train.batch, "samples of a step")->capture_default_str();
  command->add_option("--learning-rate", train.learning_rate,
                      "peak of the cosine schedule; 0.05 for float networks, 0.001 for prepared ones");
  add_augment(*command, train.augment);
  command->add_flag("--distill", train.distill,
                    "a prepared network learns from its float form, as it does where there are no labels");
  command->add_option("--out", train.folder, "folder for checkpoints and the result")->required();
  auto* resume = command->add_flag("--resume", train.resume, "go on from the last checkpoint");
  command->add_flag("--overwrite", train.overwrite, "replace an earlier run in that folder")->excludes(resume);
  command->add_flag("--profile", train.profile, "list the operators by the time that they take of a step");
  command->callback([options, &work] { work = [options] { return train_and_report(*options); }; });
}

}  // namespace halfstep::cli
