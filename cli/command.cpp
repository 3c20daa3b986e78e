#include "cli/command.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/progress.h"
#include "halfstep/api/errors.h"
#include "halfstep/core/base/nearest.h"

namespace halfstep::cli {

api::Settings Common::settings() const {
  api::Settings settings;
  settings.threads = threads;
  settings.seed = seed;
  settings.progress = make_progress(!json);
  return settings;
}

Place parse_device(const std::string& text) {
  const auto place = parse_place(text);
  if (!place) fail(errors::not_a_choice("place", text, "cpu, sim, cuda or cuda:N"));
  return *place;
}

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& summary,
                      const std::string& example, Common& common) {
  CLI::App* command = program.add_subcommand(name, summary);
  command->footer("Example:\n  " + example + "\n");
  command->add_option("--threads", common.threads, "threads; 0 is one per processor")
      ->check(within(limits::kThreads))
      ->capture_default_str();
  command->add_option("--seed", common.seed, "seed of everything random")
      ->check(within(limits::kSeed))
      ->capture_default_str();
  command->add_flag("--json", common.json, "print JSON and no progress");
  return command;
}

void OutFile::require() {
  if (path.empty()) return;
  io::require_file_target(path);
  claim = io::Claim::of_name(path);
  std::error_code failed;
  if (!overwrite && std::filesystem::is_regular_file(path, failed))
    fail(errors::file_not_replaced(path.string(), "file"));
}

CLI::Validator within(const Limits& limits) {
  const auto check = [=](const std::string& text) {
    double number = 0;
    const bool holds = CLI::detail::lexical_cast(text, number) && !text.empty() && limits.contains(number);
    return holds ? std::string() : fmt::format("found '{}', expected {}", text, limits.text());
  };
  return CLI::Validator(check, limits.text());
}

CLI::Validator one_of(std::vector<std::string> choices) {
  const auto check = [=](const std::string& text) {
    if (std::ranges::find(choices, text) != choices.end()) return std::string();
    return fmt::format("found '{}', expected {}{}", text, fmt::join(choices, ", "), did_you_mean(text, choices));
  };
  return CLI::Validator(check, fmt::format("{{{}}}", fmt::join(choices, ",")));
}

CLI::Option* add_out_file(CLI::App& command, OutFile& file, const std::string& flag, const std::string& description) {
  command.add_flag("--overwrite", file.overwrite, "replace the file of " + flag + " where it is there already");
  return command.add_option(flag, file.path, description);
}

void add_augment(CLI::App& command, train::Augment& augment) {
  command.add_flag("--flip", augment.flip, "mirror training images left to right with probability 1/2");
  command
      .add_option("--shift", augment.shift,
                  "move training images by at most this many pixels; what comes into view is 0, as in a crop of "
                  "a padded image")
      ->check(within(limits::kShift));
}

void add_max_length(CLI::App& command, std::optional<int64_t>& most) {
  command
      .add_option("--max-length", most,
                  "largest open extent of the inputs beside their batch: ranges that depend on it are calibrated on "
                  "samples that are repeated up to it")
      ->check(within(limits::kLength));
}

void add_max_iterations(CLI::App& command, int64_t& most) {
  command.add_option("--max-iterations", most, "a loop that goes on after so many iterations is an error; 0: none is")
      ->check(within(limits::kIterations));
}

void add_islands_option(CLI::App& command, quant::ConvertOptions& options) {
  command.add_flag("--float-islands", options.float_islands,
                   "keep operators that have no form on codes in float, instead of refusing them");
}

void add_repair(CLI::App& command, repair::Options& repair) {
  std::string description =
      "what mends the network after calibration, several with commas; auto: all, keeping what helps";
  for (const repair::MethodInfo& method : repair::method_list())
    description += fmt::format("; {}: {}", method.name, method.doc);
  command.add_option("--repair", repair.methods, description)->delimiter(',')->allow_extra_args(false);
  command.add_option("--repair-steps", repair.steps, "steps of each block that learns")
      ->check(within(limits::kRepairSteps))
      ->capture_default_str();
  command.add_option("--repair-folder", repair.folder,
                     "folder for the blocks that are learned, until the result is written; without it OUT.repair");
  command.add_flag("--resume", repair.resume,
                   "go on with what was interrupted: blocks and epochs that were learned are read");
}

void name_repair_folder(repair::Options& repair, const OutFile& out) {
  if (repair.any() && repair.folder.empty()) repair.folder = out.path.string() + ".repair";
  repair::check_methods(repair);
}

void add_overrides(CLI::App& command, TargetOptions& target) {
  command.add_option("--set", target.overrides, "override a field of the platform, as in features.rate=0.1");
}

void add_platform(CLI::App& command, TargetOptions& target, quant::PrepareOptions& widths) {
  command.add_option("--platform", target.name, "built-in name or path of a platform record")
      ->type_name(fmt::format("{{{}}}|FILE", fmt::join(quant::platform_names(), ",")))
      ->capture_default_str();
  command.add_option("--edges", widths.edge_bits, "bits of the first and last layer")->check(within(limits::kBits));
  command.add_option(
      "--float", widths.in_float,
      "layers that stay in float, as in 'conv1', 'block3*' or 'op:add'; convert then needs --float-islands");
  command
      .add_option_function<std::string>(
          "--batch-norm", [&widths](const std::string& name) { widths.batch_norms = quant::parse_batch_norms(name); },
          "batch norms behind layers, in training: folded into their weights, or trained beside them, frozen (by their "
          "running statistics) or live (by each batch's)")
      ->check(one_of({"folded", "frozen", "live"}))
      ->default_str("folded");
  command
      .add_option_function<std::string>(
          "--shared-weights",
          [&widths](const std::string& name) { widths.duplicate_weights = quant::parse_shared_weights(name); },
          "layers that share a weight, as a module that is called twice: tie trains one for all, duplicate one for "
          "each")
      ->check(one_of({"tie", "duplicate"}))
      ->default_str("tie");
  command.add_option("--also", widths.also,
                     "layers whose inputs get quantizers although the platform asks for none there");
  command.add_option("--region", target.regions,
                     "A:B: quantize what lies between these layers or inputs and leave the rest in float, as in "
                     "'image:head*'; without A from the network's inputs, without B up to its outputs");
  command
      .add_option("--as", target.as,
                  "mqbench: quantizers where MQBench has them, its mistakes included, to compare with; the audit names "
                  "them")
      ->check(one_of({"itself", "mqbench"}));
  command.add_flag("--pad-channels", target.pad_channels,
                   "channels of zeros where convolutions miss the multiples that the platform asks for");
  add_overrides(command, target);
}

void add_target(CLI::App& command, TargetOptions& target, quant::PrepareOptions& widths) {
  add_platform(command, target, widths);
  command.add_option("--weights", widths.weight_bits, "bits of weights, except in the first and last layer")
      ->check(within(limits::kBits));
  command.add_option("--features", widths.feature_bits, "bits of features, except in the first and last layer")
      ->check(within(limits::kBits));
}

api::Platform TargetOptions::platform() const {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const std::string& text : overrides) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      fail(errors::option_of_other_form("--set", text, "KEY=VALUE"));
    fields.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!as.empty()) fields.emplace_back("insert.as", as);
  return quant::load_platform(name, fields);
}

}  // namespace halfstep::cli
