#include "halfstep/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "halfstep/base/status.h"
#include "halfstep/ir/print.h"
#include "halfstep/passes/tensors.h"

namespace halfstep::train {
namespace {

constexpr std::string_view kPrefix = "checkpoint_";
constexpr std::string_view kSuffix = ".safetensors";
constexpr const char* kEpochNote = "train.epoch";
constexpr const char* kSettingsNote = "train.settings";
constexpr const char* kNetworkNote = "train.network";
constexpr const char* kAveragesNote = "train.averages";  ///< by parameter the tensor that has its average

std::optional<int64_t> epoch_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() <= kPrefix.size() + kSuffix.size())
    return std::nullopt;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  int64_t epoch = 0;
  const auto [stop, error] = std::from_chars(begin, end, epoch);
  return error == std::errc() && stop == end ? std::optional(epoch) : std::nullopt;
}

/// By epoch; a folder that does not exist has none.
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

std::string note(const Model& model, const char* key) {
  const auto found = model.notes.find(key);
  return found == model.notes.end() ? std::string() : found->second;
}

std::map<std::string, std::string> averages_of(const Model& file, const std::filesystem::path& path) {
  const auto averages = nlohmann::json::parse(note(file, kAveragesNote), nullptr, false);
  if (!averages.is_object() || !std::ranges::all_of(averages, [](const auto& name) { return name.is_string(); }))
    fail("{}: note '{}' names no tensors", path.string(), kAveragesNote);
  return averages.get<std::map<std::string, std::string>>();
}

void require_same(const std::filesystem::path& path, const char* what, const std::string& found,
                  const std::string& expected) {
  if (found == expected) return;
  const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  const auto excerpt = [](const std::string& text, std::string::const_iterator at) {
    const auto begin = text.begin() + std::max<std::ptrdiff_t>(0, at - text.begin() - 20);
    return std::string(begin, begin + std::min<std::ptrdiff_t>(60, text.end() - begin));
  };
  fail("{}: is of another {}: found {}, expected {}", path.string(), what, quote(excerpt(found, a)),
       quote(excerpt(expected, b)));
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t epoch) {
  return folder / fmt::format("{}{:04}{}", kPrefix, epoch, kSuffix);
}

std::optional<std::filesystem::path> last_checkpoint(const std::filesystem::path& folder) {
  const auto checkpoints = checkpoints_in(folder);
  return checkpoints.empty() ? std::nullopt : std::optional(checkpoints.rbegin()->second);
}

void remove_checkpoints_after(const std::filesystem::path& folder, int64_t epoch) {
  for (const auto& [other, path] : checkpoints_in(folder)) {
    if (other > epoch) std::filesystem::remove(path);
  }
}

void save_checkpoint(const std::filesystem::path& path, const Model& network, const TrainingState& state,
                     const std::string& settings) {
  Model file = network;
  file.notes[kNetworkNote] = print(network.graph);
  for (const auto& [name, tensor] : state.tensors) add_state(file, name, tensor);
  auto averages = nlohmann::json::object();
  for (const auto& [name, tensor] : state.average)
    averages[name] = passes::add_tensor(file, name + ".average", tensor, Role::state).name();
  file.notes[kAveragesNote] = averages.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  file.notes[kEpochNote] = std::to_string(state.epoch);
  file.notes[kSettingsNote] = settings;
  save_model(file, path);
}

TrainingState load_checkpoint(const std::filesystem::path& path, const Model& network, const std::string& settings) {
  const Model file = load_model(path);
  if (!file.notes.contains(kEpochNote))
    fail("{}: is a model without training state, expected a checkpoint", path.string());
  require_same(path, "network", note(file, kNetworkNote), print(network.graph));
  require_same(path, "run", note(file, kSettingsNote), settings);
  TrainingState state;
  const std::string epoch = note(file, kEpochNote);
  std::from_chars(epoch.data(), epoch.data() + epoch.size(), state.epoch);
  state.tensors = file.tensors;
  for (const auto& [parameter, name] : averages_of(file, path)) {
    const auto average = state.tensors.extract(name);
    if (average.empty()) fail("{}: found no tensor '{}', the average of '{}'", path.string(), name, parameter);
    state.average[parameter] = average.mapped();
  }
  return state;
}

}  // namespace halfstep::train
