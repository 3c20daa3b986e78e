#include "halfstep/train/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "halfstep/base/status.h"
#include "halfstep/train/tally.h"

namespace halfstep::train {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of_right(const Course& course) { return course.has_labels ? "accuracy" : "agreement"; }

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
  for (const Standing& standing : course.standings) {
    Json entry = {{"loss", standing.loss}};
    if (standing.right) entry[name_of_right(course)] = *standing.right;
    json["standings"].push_back(entry);
  }
  json["best_epoch"] = course.best;
  json["ended_below"] = course.ended_below();
  return json.dump();
}

Course parse_course(const std::string& text, const std::string& where) {
  try {
    const Json json = Json::parse(text);
    Course course{json.at("samples"), json.at("has_labels"), {}, json.at("best_epoch")};
    for (const Json& entry : json.at("standings")) {
      Standing standing;  // what is no number is null
      standing.loss = entry.at("loss").is_null() ? std::numeric_limits<double>::quiet_NaN() : double{entry.at("loss")};
      if (entry.contains(name_of_right(course))) standing.right = entry.at(name_of_right(course));
      course.standings.push_back(standing);
    }
    if (course.best < 0 || course.best >= std::max<int64_t>(1, static_cast<int64_t>(course.standings.size())))
      fail("{}: best_epoch is {} of {}", where, course.best, course.standings.size());
    return course;
  } catch (const Json::exception&) {
    fail("{}: found {}, expected what a training run has found", where, quote(text));
  }
}

Standing standing_of(const Model& model, const Samples& samples, BatchRunner* teacher, const Spreads& spreads,
                     ThreadPool& pool, const IterationWatch& watch) {
  const int64_t batch = evaluation_batch(model, samples), end = usable(model, samples.size());
  BatchRunner runner(evaluation_form(model), {}, pool, watch);
  const std::string& first = model.graph.body().output_names().front();
  Tally tally(first, spreads);
  for (int64_t begin = 0; begin < end; begin += batch) {
    const int64_t count = std::min(batch, end - begin);
    const Tensors inputs = samples.inputs(begin, count);
    const Tensors outputs = runner.run(inputs);
    if (teacher == nullptr) {
      tally.add(outputs, samples.labels(begin, count));
    } else {
      tally.add(outputs, teacher->run(inputs), count);
    }
  }
  return tally.standing();
}

}  // namespace halfstep::train
