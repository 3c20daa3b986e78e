#include "halfstep/tune/sensitivity/trial.h"

#include <algorithm>
#include <optional>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/tune/sensitivity/errors.h"

namespace halfstep::sensitivity {
namespace {

constexpr size_t kMostBytes = size_t{1} << 29;  ///< limit for stored inputs and answers

std::vector<int64_t> some_of(const data::Samples& samples, int64_t count, uint64_t seed) {
  constexpr uint64_t kStream = (uint64_t{3} << 62) + 2;  // stream after those of split_validation and spreads_of
  const auto order = Random(seed, kStream).permutation(samples.size());
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i)
    indices.push_back(samples.indices[static_cast<size_t>(order[static_cast<size_t>(i)])]);
  std::ranges::sort(indices);
  return indices;
}

}  // namespace

Trial::Trial(const Model& in_float, data::Samples samples, int64_t most, uint64_t seed, ThreadPool& pool)
    : samples_(std::move(samples)), pool_(pool), in_float_(train::evaluation_form(in_float), {}, pool) {
  size_ = data::usable(in_float, most == 0 ? samples_.size() : std::min(most, samples_.size()));
  if (size_ == 0)
    fail(errors::trial_samples_too_few(samples_.data->name, samples_.size(), data::batch_of(in_float, 1)));
  samples_.indices = some_of(samples_, size_, seed);
  batch_ = std::min(data::evaluation_batch(in_float, samples_), size_);
  output_ = in_float.graph.body().output_names().front();
  has_labels_ = data::have_answers(samples_, in_float);
  spreads_ = train::spreads_of(in_float, train::answers_of(in_float_), samples_, batch_, seed);
  size_t bytes = 0;
  const auto add_bytes = [&](const Tensors& tensors) {
    for (const auto& [name, tensor] : tensors) bytes += tensor.bytes();
  };
  for (int64_t begin = 0; begin < size_ && bytes <= kMostBytes; begin += batch_) {
    kept_.push_back(samples_.inputs(begin, std::min(batch_, size_ - begin)));
    answers_.push_back(in_float_.run(kept_.back()));
    add_bytes(kept_.back());
    add_bytes(answers_.back());
  }
}

Tensors Trial::inputs(int64_t begin, int64_t count) const {
  const auto batch = static_cast<size_t>(begin / batch_);
  const int64_t at = begin % batch_;
  if (batch >= kept_.size() || at + count > batch_) return samples_.inputs(begin, count);
  if (at == 0 && count == this->count(begin)) return kept_[batch];
  Tensors rows;
  for (const auto& [name, tensor] : kept_[batch]) rows.emplace(name, tensor.rows(at, at + count));
  return rows;
}

Tensors Trial::answers(int64_t begin, const Tensors& inputs) const {
  const auto batch = static_cast<size_t>(begin / batch_);
  return batch < answers_.size() ? answers_[batch] : in_float_.run(inputs);
}

void Trial::add(Tallies& tallies, int64_t begin, const Tensors& inputs, const Tensors& outputs) const {
  tallies.near.add(outputs, answers(begin, inputs), count(begin));
  if (has_labels()) tallies.judged.add(outputs, labels(begin, count(begin)));
}

Trial::Outcome Trial::outcome(const Tallies& tallies) const {
  const train::ValidationResult near = tallies.near.validation_result();
  return {has_labels() ? tallies.judged.validation_result() : near, near};
}

Trial::Outcome Trial::outcome_of(const Model& network) const {
  train::BatchRunner runner(train::evaluation_form(network), {}, pool_);
  Tallies all = tallies();
  for (int64_t begin = 0; begin < size_; begin += batch_) {
    const Tensors given = inputs(begin, count(begin));
    add(all, begin, given, runner.run(given));
  }
  return outcome(all);
}

}  // namespace halfstep::sensitivity
