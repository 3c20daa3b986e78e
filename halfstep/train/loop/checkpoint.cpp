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
constexpr const char* kLive = "live";
constexpr const char* kAverage = "average";
constexpr const char* kBest = "best";
constexpr const char* kEpochNote = "train.epoch";
constexpr const char* kSettingsNote = "train.settings";
constexpr const char* kNetworkNote = "train.network";
constexpr const char* kStartNote = "train.start";
constexpr const char* kDataNote = "train.data";  ///< DIGEST NAME
constexpr const char* kCourseNote = "train.course";

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

std::string note(const Model& model, const std::string& key) {
  const auto found = model.notes.find(key);
  return found == model.notes.end() ? std::string() : found->second;
}

/// Copies that a run keeps beside the state, under names that no tensor has; the note says where they begin.
void add_copies(Model& file, const char* what, const std::map<std::string, Tensor>& copies) {
  if (copies.empty()) return;
  std::string prefix = std::string(what) + ":";
  const auto is_taken = [&](const auto& entry) { return entry.first.starts_with(prefix); };
  while (std::ranges::any_of(file.tensors, is_taken)) prefix += ":";
  for (const auto& [name, tensor] : copies) add_state(file, prefix + name, tensor);
  file.notes[std::string("train.") + what] = prefix;
}

/// Takes them out of `tensors` again.
std::map<std::string, Tensor> take_copies(const Model& file, const char* what, std::map<std::string, Tensor>& tensors) {
  const std::string prefix = note(file, std::string("train.") + what);
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

void require_same_data(const std::filesystem::path& path, const std::string& found, const RunKey& key) {
  const std::string digest = found.substr(0, found.find(' '));
  if (digest == key.data_digest) return;
  const std::string name = digest.size() < found.size() ? found.substr(digest.size() + 1) : std::string();
  fail(errors::checkpoint_of_other_data(path.string(), quote(name), digest, quote(key.data_name), key.data_digest));
}

std::string settings_text(const RunKey& key) {
  std::string text;
  for (const auto& [name, value] : key.settings) text += fmt::format("{}: {}\n", name, value);
  return text;
}

/// The lines of `text` that `other` lacks.
std::string lines_beyond(const std::string& text, const std::string& other) {
  std::string lines;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (("\n" + other).find("\n" + line + "\n") != std::string::npos) continue;
    lines += (lines.empty() ? "" : ", ") + line;
  }
  return lines.empty() ? "nothing else" : lines;
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t epoch) {
  return folder / fmt::format("{}{:04}{}", kPrefix, epoch, kSuffix);
}

std::optional<std::filesystem::path> last_checkpoint(const std::filesystem::path& folder) {
  const auto checkpoints = checkpoints_in(folder);
  return checkpoints.empty() ? std::nullopt : std::optional(checkpoints.rbegin()->second);
}

Course course_in(const std::filesystem::path& folder) {
  const auto last = last_checkpoint(folder);
  if (!last) fail(errors::folder_without_checkpoint(folder.string()));
  const Model file = load_model(*last);
  return parse_course(note(file, kCourseNote), fmt::format("{}: note '{}'", last->string(), kCourseNote));
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
  add_copies(file, kLive, live);
  add_copies(file, kAverage, state.average);
  add_copies(file, kBest, state.best);
  file.notes[kNetworkNote] = print(network.graph);
  file.notes[kStartNote] = key.start;
  file.notes[kDataNote] = key.data_digest + " " + key.data_name;
  file.notes[kSettingsNote] = settings_text(key);
  file.notes[kCourseNote] = to_text(state.course);
  file.notes[kEpochNote] = std::to_string(state.epoch);
  save_model(file, path);
}

TrainingState load_checkpoint(const std::filesystem::path& path, const Model& network, const RunKey& key) {
  const Model file = load_model(path);
  if (!file.notes.contains(kEpochNote)) fail(errors::model_without_training_state(path.string()));
  require_same_network(path, note(file, kNetworkNote), print(network.graph));
  if (const std::string start = note(file, kStartNote); start != key.start)
    fail(errors::checkpoint_of_other_weights(path.string(), start, key.start));
  require_same_data(path, note(file, kDataNote), key);
  const std::string found = note(file, kSettingsNote), expected = settings_text(key);
  if (found != expected)
    fail(errors::checkpoint_of_other_options(path.string(), lines_beyond(found, expected),
                                             lines_beyond(expected, found)));
  TrainingState state;
  const std::string epoch = note(file, kEpochNote);
  std::from_chars(epoch.data(), epoch.data() + epoch.size(), state.epoch);
  state.course = parse_course(note(file, kCourseNote), fmt::format("{}: note '{}'", path.string(), kCourseNote));
  state.tensors = file.tensors;
  const auto live = take_copies(file, kLive, state.tensors);
  state.average = take_copies(file, kAverage, state.tensors);
  state.best = take_copies(file, kBest, state.tensors);
  for (const auto& [name, tensor] : live) state.tensors[name] = tensor;
  return state;
}

}  // namespace halfstep::train
