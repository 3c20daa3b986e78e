#include "halfstep/train/evaluate/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/evaluate/loss_meter.h"
#include "halfstep/train/evaluate/metric_sums.h"

namespace halfstep::train {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of_right(const TrainingHistory& history) { return history.has_labels ? "accuracy" : "agreement"; }

Json json_of(const TrainingHistory& history, const ValidationResult& validation_result) {
  Json json = {{"loss", validation_result.loss}};
  if (validation_result.right) json[name_of_right(history)] = *validation_result.right;
  return json;
}

/// A batch of samples with its inputs and outputs.
struct Batch {
  int64_t begin, count;
  const Tensors &inputs, &outputs;
};

/// Evaluates `answers` on whole batches for `model`. `add` adds a batch to the sums.
ValidationResult tallied(const Answers& answers, const Model& model, const data::Samples& samples,
                         const Spreads& spreads, const std::function<void(MetricSums&, const Batch&)>& add) {
  const int64_t batch = data::evaluation_batch(model, samples), end = data::usable(model, samples.size());
  MetricSums sums(model.graph.body().output_names().front(), spreads);
  for (int64_t begin = 0; begin < end; begin += batch) {
    const int64_t count = std::min(batch, end - begin);
    const Tensors inputs = samples.inputs(begin, count);
    add(sums, {begin, count, inputs, answers(inputs)});
  }
  return sums.validation_result();
}

ValidationResult against_labels(const Answers& answers, const Model& model, const data::Samples& samples) {
  return tallied(answers, model, samples, {}, [&](MetricSums& sums, const Batch& batch) {
    sums.add(batch.outputs, samples.labels(batch.begin, batch.count));
  });
}

}  // namespace

bool TrainingHistory::gains(const ValidationResult& validation_result) const {
  const ValidationResult& first = validation_results.front();
  const bool as_right = validation_result.right.has_value() && validation_result.right == first.right;
  const double most = as_right ? (1 - kLeastGain) * first.loss : first.loss;
  return !(validation_result.right < first.right) && validation_result.loss < most;
}

bool TrainingHistory::add(const ValidationResult& validation_result) {
  validation_results.push_back(validation_result);
  const bool is_best = gains(validation_result) &&
                       (best == 0 || validation_result.loss < validation_results[static_cast<size_t>(best)].loss);
  if (is_best) best = static_cast<int64_t>(validation_results.size()) - 1;
  return is_best;
}

bool TrainingHistory::ended_below() const {
  if (validation_results.empty()) return false;
  const ValidationResult &first = validation_results.front(), &last = validation_results.back();
  return last.right < first.right || !(last.loss <= first.loss);
}

std::string text_of(const TrainingHistory& history, const ValidationResult& validation_result) {
  std::string loss = fmt::format("loss {:.4g}", validation_result.loss);
  if (!validation_result.right) return loss;
  return fmt::format("{} {:.2f} %, {}", name_of_right(history), 100 * *validation_result.right, loss);
}

std::string best_text(const TrainingHistory& history) {
  return history.best == 0 ? "the initial model" : fmt::format("the state after epoch {}", history.best);
}

std::string to_text(const TrainingHistory& history) {
  Json json = {{"samples", history.samples}, {"has_labels", history.has_labels}, {"results", Json::array()}};
  for (const ValidationResult& validation_result : history.validation_results)
    json["results"].push_back(json_of(history, validation_result));
  if (history.teacher) json["teacher"] = json_of(history, *history.teacher);
  json["best_epoch"] = history.best;
  json["ended_below"] = history.ended_below();
  return json.dump();
}

ValidationResult evaluate_on(const Model& model, const data::Samples& samples, const Answers& teacher,
                             const Spreads& spreads, ThreadPool& pool, const IterationWatch& watch) {
  BatchRunner runner(evaluation_form(model), {}, pool, watch);
  if (!teacher) return against_labels(answers_of(runner), model, samples);
  return tallied(answers_of(runner), model, samples, spreads, [&](MetricSums& sums, const Batch& batch) {
    sums.add(batch.outputs, teacher(batch.inputs), batch.count);
  });
}

ValidationResult evaluate_on(const Answers& answers, const Model& model, const data::Samples& samples,
                             const losses::NamedLoss& loss, ThreadPool& pool) {
  if (!loss) return against_labels(answers, model, samples);
  LossMeter meter(loss, model.graph.body().output_names(), pool);
  const bool has_classes = data::have_answers(samples, model);
  return tallied(answers, model, samples, {}, [&](MetricSums& sums, const Batch& batch) {
    sums.add(meter(batch.outputs, samples.targets(batch.begin, batch.count)), batch.count);
    if (has_classes) sums.add_right(batch.outputs, samples.labels(batch.begin, batch.count));
  });
}

ValidationResult evaluate_on(const Model& model, const data::Samples& samples, const losses::NamedLoss& loss,
                             ThreadPool& pool, const IterationWatch& watch) {
  BatchRunner runner(evaluation_form(model), {}, pool, watch);
  return evaluate_on(answers_of(runner), model, samples, loss, pool);
}

}  // namespace halfstep::train
