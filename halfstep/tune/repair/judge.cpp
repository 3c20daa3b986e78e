#include "halfstep/tune/repair/judge.h"

#include <cmath>
#include <utility>

#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/teacher.h"

namespace halfstep::repair {

Judge::Judge(const Model& prepared, data::Samples samples, train::Spreads spreads, ThreadPool& pool)
    : teacher_(train::teacher_of(prepared, samples.data->name)),
      samples_(std::move(samples)),
      has_labels_(data::have_answers(samples_, prepared)),
      spreads_(std::move(spreads)),
      pool_(pool) {}

train::ValidationResult Judge::operator()(const Model& model) const {
  train::BatchRunner teacher(teacher_, {}, pool_);
  train::ValidationResult validation_result =
      train::evaluate_on(model, samples_, train::answers_of(teacher), spreads_, pool_);
  if (has_labels()) validation_result.right = train::accuracy(model, samples_, pool_);
  return validation_result;
}

bool gains(const train::ValidationResult& first, const train::ValidationResult& before,
           const train::ValidationResult& after, int64_t samples) {
  if (!(after.loss < before.loss)) return false;
  if (!first.right || !after.right) return true;
  constexpr double kByChance = 2;  // standard errors of the difference, a confidence of 95 %
  // Add one sample of each kind, because a plain estimate is unreliable near 0 and 1 (Agresti and Caffo, 2000).
  const auto count = static_cast<double>(samples);
  const auto variance = [&](double right) {
    const double p = (right * count + 1) / (count + 2);
    return p * (1 - p) / (count + 2);
  };
  return *after.right >= *first.right - kByChance * std::sqrt(variance(*first.right) + variance(*after.right));
}

}  // namespace halfstep::repair
