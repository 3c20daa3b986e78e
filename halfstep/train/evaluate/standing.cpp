#include "halfstep/train/evaluate/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/evaluate/tally.h"

namespace halfstep::train {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of_right(const Course& course) { return course.has_labels ? "accuracy" : "agreement"; }

Json json_of(const Course& course, const Standing& standing) {
  Json json = {{"loss", standing.loss}};
  if (standing.right) json[name_of_right(course)] = *standing.right;
  return json;
}

/// Evaluates `answers` on whole batches for `model`, against a teacher or labels.
Standing tallied(const Answers& answers, const Model& model, const data::Samples& samples, const Answers& teacher,
                 const Spreads& spreads) {
  const int64_t batch = data::evaluation_batch(model, samples), end = data::usable(model, samples.size());
  Tally tally(model.graph.body().output_names().front(), spreads);
  for (int64_t begin = 0; begin < end; begin += batch) {
    const int64_t count = std::min(batch, end - begin);
    const Tensors inputs = samples.inputs(begin, count);
    const Tensors outputs = answers(inputs);
    if (teacher) {
      tally.add(outputs, teacher(inputs), count);
    } else {
      tally.add(outputs, samples.labels(begin, count));
    }
  }
  return tally.standing();
}

}  // namespace

bool Course::gains(const Standing& standing) const {
  const Standing& first = standings.front();
  const bool as_right = standing.right.has_value() && standing.right == first.right;
  const double most = as_right ? (1 - kLeastGain) * first.loss : first.loss;
  return !(standing.right < first.right) && standing.loss < most;
}

bool Course::add(const Standing& standing) {
  standings.push_back(standing);
  const bool is_best = gains(standing) && (best == 0 || standing.loss < standings[static_cast<size_t>(best)].loss);
  if (is_best) best = static_cast<int64_t>(standings.size()) - 1;
  return is_best;
}

bool Course::ended_below() const {
  if (standings.empty()) return false;
  const Standing &first = standings.front(), &last = standings.back();
  return last.right < first.right || !(last.loss <= first.loss);
}

std::string text_of(const Course& course, const Standing& standing) {
  std::string loss = fmt::format("loss {:.4g}", standing.loss);
  if (!standing.right) return loss;
  return fmt::format("{} {:.2f} %, {}", name_of_right(course), 100 * *standing.right, loss);
}

std::string best_text(const Course& course) {
  return course.best == 0 ? "the network as it was given" : fmt::format("that of epoch {}", course.best);
}

std::string to_text(const Course& course) {
  Json json = {{"samples", course.samples}, {"has_labels", course.has_labels}, {"standings", Json::array()}};
  for (const Standing& standing : course.standings) json["standings"].push_back(json_of(course, standing));
  if (course.teacher) json["teacher"] = json_of(course, *course.teacher);
  json["best_epoch"] = course.best;
  json["ended_below"] = course.ended_below();
  return json.dump();
}

Standing standing_of(const Model& model, const data::Samples& samples, const Answers& teacher, const Spreads& spreads,
                     ThreadPool& pool, const IterationWatch& watch) {
  BatchRunner runner(evaluation_form(model), {}, pool, watch);
  return tallied(answers_of(runner), model, samples, teacher, spreads);
}

Standing standing_of(const Answers& answers, const Model& model, const data::Samples& samples) {
  return tallied(answers, model, samples, {}, {});
}

}  // namespace halfstep::train
