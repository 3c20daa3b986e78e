#include "halfstep/data/datasets/split.h"

#include <algorithm>
#include <numeric>

#include "halfstep/core/base/random.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

/// The samples of each class, or a single group if a sample has several labels.
std::vector<std::vector<int64_t>> members_of(const Dataset& data) {
  const bool has_one_each = data.labels_each() == 1;
  std::vector<std::vector<int64_t>> members(has_one_each ? data.classes.size() : 1);
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto label = has_one_each ? data.labels.data<int32_t>()[static_cast<size_t>(i)] : 0;
    members[static_cast<size_t>(label)].push_back(i);
  }
  return members;
}

Split stratified(const Dataset& data) {
  constexpr uint64_t kSplitSeed = 2026;  // fixed, so that every run tests on the same samples, whatever its seed
  const std::vector<std::vector<int64_t>> members = members_of(data);
  Split parts;
  for (size_t label = 0; label < members.size(); ++label) {
    const auto order = Random(kSplitSeed, label).permutation(static_cast<int64_t>(members[label].size()));
    const size_t train = (members[label].size() * 4 + 2) / 5;
    for (size_t i = 0; i < order.size(); ++i)
      (i < train ? parts.train : parts.test).push_back(members[label][static_cast<size_t>(order[i])]);
  }
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.test.begin(), parts.test.end());
  parts.tested = data.labels_each() == 1 ? "a fifth of each class" : "a fifth of the samples";
  return parts;
}

Split everything(const Dataset& data) {
  std::vector<int64_t> all(static_cast<size_t>(data.size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  return {.train = all, .val = {}, .test = all, .tested = "all samples"};
}

void thin_out(std::vector<int64_t>& part, int64_t most) {
  const auto count = static_cast<int64_t>(part.size());
  if (count <= most) return;
  for (int64_t i = 0; i < most; ++i) part[static_cast<size_t>(i)] = part[static_cast<size_t>(i * count / most)];
  part.resize(static_cast<size_t>(most));
}

}  // namespace

Split parts_of(const Dataset& data) {
  if (data.split) return *data.split;
  Split parts = data.has_answers() ? stratified(data) : everything(data);
  if (parts.train.empty() || parts.test.empty()) fail(errors::split_impossible(data.name, data.size()));
  return parts;
}

void choose(Dataset& data, const DataOptions& options) {
  const int64_t samples = options.samples;
  if (samples < 0) fail(errors::number_out_of_range("samples", samples, "a number of samples, or 0 for all"));
  if (options.all) data.split = everything(data);
  if (samples == 0) return;
  data.split = parts_of(data);
  for (auto* part : {&data.split->train, &data.split->val, &data.split->test}) thin_out(*part, samples);
}

}  // namespace halfstep::data
