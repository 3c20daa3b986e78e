#include "halfstep/api/detail/train_in_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/api/quantize.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/quant/prepare/quantized_regions.h"
#include "halfstep/train/loop/checkpoint.h"
#include "halfstep/train/loop/run_folder.h"

namespace halfstep::api {
namespace {

/// Returns a name such as "2-w4f8". A run with another schedule in the same folder reuses identical stages.
std::string folder_name(size_t index, const StageBits& bits) {
  if (bits.in_float()) return fmt::format("{}-float", index + 1);
  return fmt::format("{}-w{}f{}", index + 1, bits.weights, bits.activations);
}

QuantizeOptions with_bit_widths(QuantizeOptions options, const StageBits& bits) {
  options.prepare.weight_bits = bits.weights;
  options.prepare.activation_bits = bits.activations;
  return options;
}

/// Throws the platform's objections to any stage before the first stage trains.
void require_legal(const Model& network, const BitsSchedule& schedule) {
  std::vector<Diagnostic> objections;
  const std::string where = fmt::format("network '{}'", network.graph.name());
  for (const StageBits& bits : schedule.stages) {
    if (bits.in_float()) continue;
    const QuantizeOptions options = with_bit_widths(schedule.quantize, bits);
    std::vector<Diagnostic> found;
    collect(found, "", where, [&] {
      if (stage_of(network) == Stage::prepared) {
        Model model = network;
        quant::set_inner_bits(model, bits.weights, bits.activations);
        return;
      }
      Model start = quant::own_weights(quant::with_regions(network, options.regions), options.prepare);
      if (options.pad_channels) start = quant::pad_channels(start, *schedule.platform, options.prepare).model;
      quant::prepare(start, *schedule.platform, options.prepare);
    });
    for (Diagnostic& one : found) {
      if (std::ranges::find(objections, one) == objections.end()) objections.push_back(std::move(one));
    }
  }
  fail_on_any(std::move(objections));
}

void check(const Model& network, const BitsSchedule& schedule) {
  const Stage stage = stage_of(network);
  const auto& stages = schedule.stages;
  const auto later = stages.empty() ? stages.end() : stages.begin() + 1;
  if (std::any_of(later, stages.end(), [](const StageBits& bits) { return bits.in_float(); }))
    fail(errors::schedule_with_late_float());
  if (stage == Stage::prepared && schedule.platform)
    fail(errors::wrong_stage(place_of(network), "a prepared network", "a float network for a platform",
                             "omit the platform"));
  if (stage == Stage::prepared && stages.front().in_float())
    fail(errors::wrong_stage(place_of(network), "a prepared network", "a float network for a stage in float",
                             "start from the float network"));
  if (stage == Stage::float_network && !schedule.platform)
    fail(errors::no_platform(network.graph.name(), "the platform of the schedule", "set one (--platform)"));
  require_legal(network, schedule);
}

Settings with_stage(Settings settings, const std::string& name) {
  if (!settings.progress) return settings;
  settings.progress = [name, report = settings.progress](const Progress& progress) {
    const std::string stage = fmt::format("{}: {}", name, progress.stage);
    report({stage, progress.done, progress.total, progress.note});
  };
  return settings;
}

}  // namespace

TrainResult train_in_stages(const Model& given, const Dataset& data, const TrainOptions& options,
                            const Settings& settings) {
  const BitsSchedule& schedule = options.schedule;
  check(given, schedule);
  std::vector<std::filesystem::path> folders;
  for (size_t i = 0; i < schedule.stages.size(); ++i)
    folders.push_back(options.folder ? *options.folder / folder_name(i, schedule.stages[i]) : std::filesystem::path());
  const auto result_file = train::result_path(options.folder.value_or(""));
  if (options.folder && !options.resume && !options.overwrite) {
    train::require_free(*options.folder);
    for (const auto& folder : folders) train::require_free(folder);
  }
  std::optional<io::Claim> claim;
  if (options.folder) claim = io::Claim::of_folder(*options.folder);
  Model network = given;
  std::vector<TrainResult> done;
  for (size_t i = 0; i < folders.size(); ++i) {
    const StageBits& bits = schedule.stages[i];
    const Settings of_stage = with_stage(settings, to_text(bits));
    if (!bits.in_float() && stage_of(network) == Stage::float_network) {
      QuantizeOptions quantize_options = with_bit_widths(schedule.quantize, bits);
      quantize_options.preprocess = options.preprocess;
      network = quantize(network, *schedule.platform, data, quantize_options, of_stage).model;
    } else if (!bits.in_float()) {
      quant::set_inner_bits(network, bits.weights, bits.activations);
    }
    TrainOptions one = options;
    one.schedule = {};
    if (options.folder) one.folder = folders[i];
    one.keep_best = options.keep_best || i > 0;
    TrainResult trained = train(network, data, one, of_stage);
    trained.bits = to_text(bits);
    network = trained.model;
    // Later stages of an earlier run started from a state that no longer exists.
    for (size_t later = i + 1; !trained.was_finished && later < folders.size(); ++later)
      train::remove_checkpoints_after(folders[later], 0);
    done.push_back(std::move(trained));
  }
  TrainResult result = std::move(done.back());
  done.pop_back();
  result.was_finished = result.was_finished && std::ranges::all_of(done, &TrainResult::was_finished);
  if (options.folder && !(result.was_finished && std::filesystem::exists(result_file)))
    save_model(result.model, result_file);
  result.stages = std::move(done);
  return result;
}

}  // namespace halfstep::api
