#include "halfstep/train/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "halfstep/base/status.h"

namespace halfstep::train {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of_right(const Course& course) { return course.has_labels ? "accuracy" : "agreement"; }

/// The cross entropy of a row of logits, in float64.
double cross_entropy(std::span<const float> row, int32_t label) {
  const double largest = double{*std::max_element(row.begin(), row.end())};
  double sum = 0;
  for (const float logit : row) sum += std::exp(double{logit} - largest);
  return largest + std::log(sum) - double{row[static_cast<size_t>(label)]};
}

/// Adds up what batches show.
class Tally {
 public:
  void add_labels(const Tensor& logits, const Tensor& labels) {
    if (logits.dims().size() != 2) fail("found an output {}, expected [n, classes]", to_string(logits.dims()));
    const auto of_samples = labels.data<int32_t>();
    const auto values = logits.data<float>();
    const auto classes = static_cast<size_t>(logits.dims()[1]);
    for (size_t i = 0; i < of_samples.size(); ++i)
      loss_ += cross_entropy(values.subspan(i * classes, classes), of_samples[i]);
    count_right(largest_of_rows(logits), {of_samples.begin(), of_samples.end()});
  }

  /// Adds the distance of one output from what was wanted, for `count` samples.
  void add_distance(const Tensor& output, const Tensor& wanted, float spread, int64_t count) {
    const auto a = output.data<float>(), b = wanted.data<float>();
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double difference = (double{a[i]} - double{b[i]}) / double{spread};
      sum += difference * difference;
    }
    loss_ += static_cast<double>(count) * sum / static_cast<double>(std::max<size_t>(1, a.size()));
  }

  void count_right(const std::vector<int64_t>& found, const std::vector<int64_t>& expected) {
    seen_ += found.size();
    for (size_t i = 0; i < found.size(); ++i) right_ += found[i] == expected[i] ? 1U : 0U;
  }

  void add_samples(int64_t count) { samples_ += count; }

  Standing standing() const {
    Standing standing;
    if (seen_ > 0) standing.right = static_cast<double>(right_) / static_cast<double>(seen_);
    standing.loss = loss_ / static_cast<double>(samples_);
    return standing;
  }

 private:
  double loss_ = 0;
  int64_t samples_ = 0;
  size_t seen_ = 0, right_ = 0;
};

bool has_classes(const Tensor& output) { return output.dims().size() == 2 && output.dims()[1] > 1; }

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
                     ThreadPool& pool) {
  const int64_t batch = evaluation_batch(model, samples), end = usable(model, samples.size());
  BatchRunner runner(evaluation_form(model), {}, pool);
  const std::string& first = model.graph.body().output_names().front();
  Tally tally;
  for (int64_t begin = 0; begin < end; begin += batch) {
    const int64_t count = std::min(batch, end - begin);
    const Tensors inputs = samples.inputs(begin, count);
    const Tensors outputs = runner.run(inputs);
    tally.add_samples(count);
    if (teacher == nullptr) {
      tally.add_labels(outputs.at(first), samples.labels(begin, count));
      continue;
    }
    const Tensors wanted = teacher->run(inputs);
    for (const auto& [name, spread] : spreads) tally.add_distance(outputs.at(name), wanted.at(name), spread, count);
    if (spreads.contains(first) && has_classes(outputs.at(first)))
      tally.count_right(largest_of_rows(outputs.at(first)), largest_of_rows(wanted.at(first)));
  }
  return tally.standing();
}

}  // namespace halfstep::train
