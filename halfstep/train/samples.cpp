#include "halfstep/train/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"

namespace halfstep::train {
namespace {

constexpr const char* kScaleNote = "input.scale";

std::vector<int64_t> chosen(const std::vector<int64_t>& indices, int64_t begin, int64_t count,
                            const std::vector<int64_t>* order) {
  std::vector<int64_t> rows;
  for (int64_t i = begin; i < begin + count; ++i)
    rows.push_back(indices[static_cast<size_t>(order == nullptr ? i : (*order)[static_cast<size_t>(i)])]);
  return rows;
}

io::Split stratified(const io::Dataset& data) {
  constexpr uint64_t kSplitSeed = 2026;  // fixed: every run, whatever its seed, tests on the same samples
  std::vector<std::vector<int64_t>> members(data.classes.size());
  const auto labels = data.labels.data<int32_t>();
  for (size_t i = 0; i < labels.size(); ++i) members[static_cast<size_t>(labels[i])].push_back(static_cast<int64_t>(i));
  io::Split parts;
  for (size_t label = 0; label < members.size(); ++label) {
    const auto order = Random(kSplitSeed, label).permutation(static_cast<int64_t>(members[label].size()));
    const size_t train = (members[label].size() * 4 + 2) / 5;
    for (size_t i = 0; i < order.size(); ++i)
      (i < train ? parts.train : parts.test).push_back(members[label][static_cast<size_t>(order[i])]);
  }
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.test.begin(), parts.test.end());
  return parts;
}

}  // namespace

Tensor Samples::x(int64_t begin, int64_t count, const std::vector<int64_t>* order) const {
  Tensor batch = data->batch(chosen(indices, begin, count, order));
  for (float& value : batch.data<float>()) value *= scale;
  return batch;
}

Tensor Samples::labels(int64_t begin, int64_t count, const std::vector<int64_t>* order) const {
  return data->batch_labels(chosen(indices, begin, count, order));
}

TrainTest split(const io::Dataset& data) {
  io::Split parts = data.split ? *data.split : stratified(data);
  if (parts.train.empty() || parts.test.empty())
    fail("{}: {} samples cannot be split into a training and a test part", data.name, data.size());
  return {{&data, std::move(parts.train)}, {&data, std::move(parts.test)}};
}

float natural_scale(const Samples& train) {
  constexpr int64_t kChunk = 1024;
  float largest = 0;
  for (int64_t begin = 0; begin < train.size(); begin += kChunk) {
    const Tensor chunk = train.x(begin, std::min(kChunk, train.size() - begin));
    for (const float value : chunk.data<float>()) largest = std::max(largest, std::fabs(value));
  }
  return largest > 0 ? 1.0F / largest : 1.0F;
}

void set_input_scale(Model& model, float scale) { model.notes[kScaleNote] = fmt::format("{}", scale); }

float input_scale(const Model& model) {
  const auto note = model.notes.find(kScaleNote);
  return note == model.notes.end() ? 1.0F : std::strtof(note->second.c_str(), nullptr);
}

}  // namespace halfstep::train
