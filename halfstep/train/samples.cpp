#include "halfstep/train/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"
#include "halfstep/ir/hash.h"

namespace halfstep::train {
namespace {

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

Tensors Samples::inputs(int64_t begin, int64_t count, const std::vector<int64_t>* order,
                        const Augmentation& augmentation) const {
  const std::vector<int64_t> rows = chosen(indices, begin, count, order);
  Tensors inputs;
  for (const auto& [name, tensor] : data->inputs) inputs.emplace(name, io::rows_of(tensor, rows));
  if (!data->x.defined()) return inputs;
  Tensor x = data->batch(rows);
  if (augmentation.how.any()) x = augmentation.how.apply(x, augmentation.seed, augmentation.step);
  inputs.emplace(argument, data->raw ? preprocess.apply(std::move(x)) : std::move(x));
  return inputs;
}

std::map<std::string, Dims> Samples::extents(int64_t count) const {
  std::map<std::string, Dims> extents;
  const auto add = [&](const std::string& name, Dims sample) {
    sample.insert(sample.begin(), count);
    extents.emplace(name, std::move(sample));
  };
  for (const auto& [name, tensor] : data->inputs) add(name, {tensor.dims().begin() + 1, tensor.dims().end()});
  if (data->x.defined()) add(argument, data->raw ? preprocess.sample_dims(data->sample_dims()) : data->sample_dims());
  return extents;
}

Tensor Samples::labels(int64_t begin, int64_t count, const std::vector<int64_t>* order) const {
  return data->batch_labels(chosen(indices, begin, count, order));
}

TrainTest split(const io::Dataset& data) {
  if (!data.has_labels()) {
    std::vector<int64_t> all(static_cast<size_t>(data.size()));
    std::iota(all.begin(), all.end(), int64_t{0});
    return {{&data, all, {}, {}}, {&data, all, {}, {}}};
  }
  io::Split parts = data.split ? *data.split : stratified(data);
  if (parts.train.empty() || parts.test.empty())
    fail("{}: {} samples cannot be split into a training and a test part", data.name, data.size());
  return {{&data, std::move(parts.train), {}, {}}, {&data, std::move(parts.test), {}, {}}};
}

void TrainTest::feed(const Model& model) {
  for (Samples* samples : {&train, &test}) {
    samples->argument = model.graph.arguments().front().name();
    samples->preprocess = preprocess_of(model);
  }
}

HeldBack hold_back(const Samples& samples, int64_t at_once, uint64_t seed) {
  constexpr int64_t kShare = 10, kFew = 100, kFewShare = 4, kMost = 5000;
  constexpr uint64_t kStream = uint64_t{3} << 62;  // apart from shuffling, which counts epochs, and from augmentation
  const int64_t size = samples.size();
  const int64_t wanted = std::min(kMost, std::max(size / kShare, std::min(kFew, size / kFewShare)));
  const int64_t held_back = std::max<int64_t>(1, wanted / at_once) * at_once;
  if (held_back + at_once > size)
    fail("{}: found {} samples, expected at least {}: a part is held back, to find out whether training does good",
         samples.data->name, size, 2 * at_once);
  const auto order = Random(seed, kStream).permutation(size);
  std::vector<bool> is_held_back(static_cast<size_t>(size));
  for (int64_t i = 0; i < held_back; ++i) is_held_back[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  HeldBack parts{samples, samples};
  parts.train.indices.clear();
  parts.held_back.indices.clear();
  for (size_t i = 0; i < is_held_back.size(); ++i)
    (is_held_back[i] ? parts.held_back : parts.train).indices.push_back(samples.indices[i]);
  return parts;
}

std::string content_digest(const Samples& samples) {
  detail::Hash hash;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (!tensor.defined()) return;
    hash.update(name + ": " + to_string(tensor.type()) + "\n");
    const size_t each = tensor.bytes() / static_cast<size_t>(tensor.dims()[0]);
    for (const int64_t index : samples.indices) hash.update({tensor.raw() + static_cast<size_t>(index) * each, each});
  };
  add(samples.argument, samples.data->x);
  for (const auto& [name, tensor] : samples.data->inputs) add(name, tensor);
  add("labels", samples.data->labels);
  return hash.hex128();
}

Preprocess natural_scale(const Samples& train) {
  Preprocess preprocess;
  if (!train.data->raw) return preprocess;
  constexpr int64_t kChunk = 1024;
  float largest = 0;
  for (int64_t begin = 0; begin < train.size(); begin += kChunk) {
    const Tensor chunk =
        train.data->batch(chosen(train.indices, begin, std::min(kChunk, train.size() - begin), nullptr));
    for (const float value : chunk.data<float>()) largest = std::max(largest, std::fabs(value));
  }
  if (largest > 0) preprocess.scale = 1.0F / largest;
  return preprocess;
}

int64_t batch_of(const Model& model, int64_t wanted) {
  const Dims& dims = model.graph.arguments().front().dims();
  return dims.empty() || dims[0] == kUnknown ? wanted : dims[0];
}

int64_t usable(const Model& model, int64_t samples) {
  const int64_t fixed = batch_of(model, 1);
  return samples / fixed * fixed;
}

}  // namespace halfstep::train
