#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

struct TrainArguments {
  Common common;
  DataArguments data;
  std::string network = "digits";
  std::filesystem::path model;
  std::vector<std::filesystem::path> teachers;
  api::TrainOptions train;
  std::string rate_schedule = "cosine";
  std::vector<std::string> stages;
  TargetOptions target;
  bool has_target = false;
};

api::BitsSchedule schedule_for(const TrainArguments& arguments, const api::BitsSchedule& asked, const Model& network) {
  api::BitsSchedule schedule = asked;
  const bool is_float = api::stage_of(network) == api::Stage::in_float;
  if (!schedule.stages.empty() && (is_float || arguments.has_target)) schedule.platform = arguments.target.platform();
  schedule.quantize.pad_channels = arguments.target.pad_channels;
  schedule.quantize.regions = arguments.target.regions;
  return schedule;
}

api::Trained trained(const TrainArguments& arguments) {
  io::require_folder_target(arguments.train.folder);
  api::TrainOptions options = arguments.train;
  options.preprocess = arguments.data.preprocess;
  options.recipe.schedule = train::parse_rate_schedule(arguments.rate_schedule);
  for (const std::string& stage : arguments.stages) options.schedule.stages.push_back(api::parse_stage_bits(stage));
  for (const auto& teacher : arguments.teachers) options.teachers.push_back(api::load(teacher));
  options.keeps_best = !arguments.model.empty();
  if (options.keeps_best) {
    const auto [network, data] = load_both(arguments.model, arguments.data);
    options.schedule = schedule_for(arguments, options.schedule, network);
    return api::train(network, data, options, arguments.common.settings());
  }
  const api::Dataset data = api::load_data(arguments.data.path, io::kMaxClasses, arguments.data.read);
  const Model network = api::create_network(arguments.network, data, arguments.common.seed, options.preprocess);
  options.schedule = schedule_for(arguments, options.schedule, network);
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

void add_schedule(CLI::App& command, TrainArguments& options) {
  auto* schedule =
      command
          .add_option("--bits-schedule", options.stages,
                      "train at these widths one after the other, --epochs at each, as in 8,4 or float,8,4/8 (4-bit "
                      "weights, 8-bit features); the ends of the network keep theirs. A float network is quantized for "
                      "--platform")
          ->delimiter(',');
  const auto before = command.get_options();
  add_platform(command, options.target, options.train.schedule.quantize.widths);
  for (CLI::Option* option : command.get_options()) {
    if (std::ranges::find(before, option) == before.end())
      option->needs(schedule)->each([&options](const std::string&) { options.has_target = true; });
  }
}

void add_recipe(CLI::App& command, TrainArguments& options) {
  train::Recipe& recipe = options.train.recipe;
  command
      .add_option("--schedule", options.rate_schedule,
                  "the learning rate: cosine down to 0; or steps, a tenth after a half and again after three quarters "
                  "of the training; or steps:A,B with shares of it")
      ->capture_default_str();
  command.add_option("--label-smoothing", recipe.label_smoothing, "share of a label that all classes have alike")
      ->check(within(limits::kShare))
      ->capture_default_str();
  command
      .add_option("--mixup", recipe.mixup,
                  "pairs of samples are mixed by a beta distribution of this parameter, as in 0.2; 0: none")
      ->check(within(limits::kMixup))
      ->capture_default_str();
  command
      .add_option("--distill-features", recipe.features,
                  "layers of a prepared network that are to give what they give in float, as in 'block3*'")
      ->delimiter(',');
  command.add_option("--scale-rate", recipe.scale_rate, "learned scales move at so many times the learning rate")
      ->check(within(limits::kScaleRate))
      ->capture_default_str();
  command
      .add_option("--freeze-oscillating", recipe.freeze_above,
                  "weights of a prepared network whose code goes back and forth in a larger share of steps stay where "
                  "they are on average, as in 0.02; 0: none")
      ->check(within(limits::kShare))
      ->capture_default_str();
  command
      .add_option("--renormalize", recipe.renormalize,
                  "running statistics of batch norms are taken anew from so many batches at the end; 0: they stay")
      ->check(within(limits::kRenormalize))
      ->capture_default_str();
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
  command->add_option("--epochs", train.epochs, "how often every training sample is seen")
      ->check(within(limits::kEpochs))
      ->capture_default_str();
  command->add_option("--batch", train.batch, "samples of a step")
      ->check(within(limits::kBatch))
      ->capture_default_str();
  command
      ->add_option("--learning-rate", train.learning_rate,
                   "peak of the schedule; 0.05 for float networks, 0.001 for prepared ones")
      ->check(within(limits::kLearningRate));
  command
      ->add_option("--ema", train.average_decay,
                   "decay of the moving average of weights, which is what is evaluated and written; 0: none")
      ->check(within(limits::kShare))
      ->capture_default_str();
  command
      ->add_option("--weight-decay", train.weight_decay,
                   "share of each parameter that a step takes away, times the learning rate")
      ->check(within(limits::kShare))
      ->capture_default_str();
  add_schedule(*command, *options);
  add_augment(*command, train.augment);
  add_recipe(*command, *options);
  command
      ->add_option(
          "--teacher", options->teachers,
          "a better network of the same samples (a Model, ONNX or Paddle file), or several, whose mean counts: "
          "its outputs are learned beside the labels")
      ->delimiter(',');
  command->add_option("--teacher-weight", train.recipe.teacher_weight, "how much that counts beside the labels")
      ->check(within(limits::kTeacherWeight))
      ->capture_default_str();
  command->add_flag(
      "--distill", train.distill,
      "learn from the teacher alone, as where there are no labels; a prepared network without one has its "
      "float form");
  command->add_option("--out", train.folder, "folder for checkpoints and the result")->required();
  auto* resume = command->add_flag("--resume", train.resume, "go on from the last checkpoint");
  command->add_flag("--overwrite", train.overwrite, "replace an earlier run in that folder")->excludes(resume);
  add_max_iterations(*command, train.max_iterations);
  command->add_flag("--profile", train.profile, "list the operators by the time that they take of a step");
  command->callback([options, &work] { work = [options] { return train_and_report(*options); }; });
}

}  // namespace halfstep::cli
