#include "cli/command.h"

namespace halfstep::cli {
namespace {

/// Target of a float network. The default is generic_int8.
api::TargetOptions target_of(const api::TrainCommand& command) {
  api::TargetOptions target = command.target;
  if (!target.platform) target.platform = "generic_int8";
  return target;
}

api::TrainOptions options_for(const api::TrainCommand& command, const Model& network, const Given& given) {
  api::TrainOptions options = command.options;
  for (const auto& teacher : command.teacher) options.teachers.push_back(api::load(teacher));
  const bool is_float = api::stage_of(network) == api::Stage::float_network;
  const bool has_target = given.has("platform") || given.has("overrides");
  if (!options.schedule.stages.empty() && (is_float || has_target))
    options.schedule.platform = load_platform(command.common, target_of(command));
  return options;
}

api::TrainResult trained(api::TrainCommand& command, const Given& given) {
  io::require_folder_target(command.options.folder.value_or(""));
  command.options.keep_best = !command.model.empty();
  const api::Settings settings = settings_of(command.common);
  if (command.options.keep_best) {
    const auto [network, data] = load_both(command.common, command.model, command.data, command.options.preprocess);
    return api::train(network, data, options_for(command, network, given), settings);
  }
  const api::Dataset data = load_data(command.common, command.data, data::kMaxClasses);
  const Model network = api::create_network(command.network, data, command.common.seed, command.options.preprocess);
  return api::train(network, data, options_for(command, network, given), settings);
}

int train_and_report(api::TrainCommand& command, const Given& given) {
  const std::filesystem::path out = command.options.folder.value_or("");
  const api::TrainResult result = trained(command, given);
  print_notes(result.notes);
  if (command.common.json) {
    fmt::print("{}", report::as_json(result));
  } else if (result.was_finished) {
    fmt::print("{}: {}", out.string(), report::as_text(result));
  } else {
    fmt::print("{}wrote {}\n", report::as_text(result), (out / "model.safetensors").string());
  }
  return kDone;
}

}  // namespace

void add_train(const Program& program) { add_verb<api::TrainCommand>(program, train_and_report); }

}  // namespace halfstep::cli
