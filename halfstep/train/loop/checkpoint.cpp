#include "halfstep/train/loop/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/train/loop/errors.h"

namespace halfstep::train {
namespace {

constexpr std::string_view kPrefix = "checkpoint_";
constexpr std::string_view kSuffix = ".safetensors";
std::optional<int64_t> epoch_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() <= kPrefix.size() + kSuffix.size())
    return std::nullopt;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  int64_t epoch = 0;
  const auto [stop, error] = std::from_chars(begin, end, epoch);
  return error == std::errc() && stop == end ? std::optional(epoch) : std::nullopt;
}

/// Checkpoints by epoch. Empty if the folder does not exist.
std::map<int64_t, std::filesystem::path> checkpoints_in(const std::filesystem::path& folder) {
  std::map<int64_t, std::filesystem::path> checkpoints;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (const auto epoch = epoch_of(entry.path().filename().string())) checkpoints[*epoch] = entry.path();
  }
  return checkpoints;
}

void add_state(Model& model, const std::string& name, const Tensor& tensor) {
  if (!model.graph.tensor(name)) model.graph.add_tensor(name, tensor.type(), Role::state);
  model.tensors[name] = tensor;
}

/// Adds tensors that a run keeps with the state, under names that no tensor has. Returns the prefix of the names, ""
/// without tensors.
std::string add_copies(Model& file, const char* what, const std::map<std::string, Tensor>& copies) {
  if (copies.empty()) return {};
  std::string prefix = std::string(what) + ":";
  const auto is_taken = [&](const auto& entry) { return entry.first.starts_with(prefix); };
  while (std::ranges::any_of(file.tensors, is_taken)) prefix += ":";
  for (const auto& [name, tensor] : copies) add_state(file, prefix + name, tensor);
  return prefix;
}

/// Moves these tensors out of `tensors`.
std::map<std::string, Tensor> take_copies(const std::string& prefix, std::map<std::string, Tensor>& tensors) {
  std::map<std::string, Tensor> copies;
  if (prefix.empty()) return copies;
  std::erase_if(tensors, [&](const auto& entry) {
    if (!entry.first.starts_with(prefix)) return false;
    copies[entry.first.substr(prefix.size())] = entry.second;
    return true;
  });
  return copies;
}

void require_same_network(const std::filesystem::path& path, const std::string& found, const std::string& expected) {
  if (found == expected) return;
  const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  const auto excerpt = [](const std::string& text, std::string::const_iterator at) {
    const auto begin = text.begin() + std::max<std::ptrdiff_t>(0, at - text.begin() - 20);
    return std::string(begin, begin + std::min<std::ptrdiff_t>(60, text.end() - begin));
  };
  fail(errors::checkpoint_of_another_network(path.string(), quote(excerpt(found, a)), quote(excerpt(expected, b))));
}

void require_same_data(const std::filesystem::path& path, const TrainingRun& found, const RunKey& key) {
  if (found.data_digest == key.data_digest) return;
  fail(errors::checkpoint_of_other_data(path.string(), quote(found.data_name), found.data_digest, quote(key.data_name),
                                        key.data_digest));
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// The entries of `settings` that are not in `others`.
std::string beyond(const Settings& settings, const Settings& others) {
  std::string text;
  for (const auto& setting : settings) {
    if (std::ranges::find(others, setting) != others.end()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", setting.first, setting.second);
  }
  return text.empty() ? "nothing else" : text;
}

const TrainingRun& run_of(const Model& file, const std::filesystem::path& path) {
  if (!file.metadata.training_run) fail(errors::model_without_training_state(path.string()));
  return *file.metadata.training_run;
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t epoch) {
  return folder / fmt::format("{}{:04}{}", kPrefix, epoch, kSuffix);
}

std::optional<std::filesystem::path> last_checkpoint(const std::filesystem::path& folder) {
  const auto checkpoints = checkpoints_in(folder);
  return checkpoints.empty() ? std::nullopt : std::optional(checkpoints.rbegin()->second);
}

TrainingHistory history_in(const std::filesystem::path& folder) {
  const auto last = last_checkpoint(folder);
  if (!last) fail(errors::folder_without_checkpoint(folder.string()));
  const Model file = load_model(*last);
  return TrainingHistory{run_of(file, *last).history};
}

void remove_checkpoints_after(const std::filesystem::path& folder, int64_t epoch) {
  for (const auto& [other, path] : checkpoints_in(folder)) {
    if (other > epoch) std::filesystem::remove(path);
  }
}

void save_checkpoint(const std::filesystem::path& path, const Model& network, const TrainingState& state,
                     const RunKey& key) {
  Model file = network;
  std::map<std::string, Tensor> live;
  for (const auto& [name, tensor] : state.tensors) {
    const auto learned = network.tensors.find(name);
    if (learned == network.tensors.end())
      add_state(file, name, tensor);
    else if (!learned->second.same_bits(tensor))
      live[name] = tensor;
  }
  file.metadata.training_run = TrainingRun{
      .epoch = state.epoch,
      .network = print(network.graph),
      .start = key.start,
      .data_name = key.data_name,
      .data_digest = key.data_digest,
      .settings = key.settings,
      .history = state.history,
      .live = add_copies(file, "live", live),
      .average = add_copies(file, "average", state.average),
      .best = add_copies(file, "best", state.best),
  };
  save_model(file, path);
}

TrainingState load_checkpoint(const std::filesystem::path& path, const Model& network, const RunKey& key) {
  const Model file = load_model(path);
  const TrainingRun& run = run_of(file, path);
  require_same_network(path, run.network, print(network.graph));
  if (run.start != key.start) fail(errors::checkpoint_of_other_weights(path.string(), run.start, key.start));
  require_same_data(path, run, key);
  if (run.settings != key.settings)
    fail(errors::checkpoint_of_other_options(path.string(), beyond(run.settings, key.settings),
                                             beyond(key.settings, run.settings)));
  TrainingState state;
  state.epoch = run.epoch;
  state.history = TrainingHistory{run.history};
  state.tensors = file.tensors;
  const auto live = take_copies(run.live, state.tensors);
  state.average = take_copies(run.average, state.tensors);
  state.best = take_copies(run.best, state.tensors);
  for (const auto& [name, tensor] : live) state.tensors[name] = tensor;
  return state;
}

}  // namespace halfstep::train
