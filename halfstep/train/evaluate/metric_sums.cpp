#include "halfstep/train/evaluate/metric_sums.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/status.h"
#include "halfstep/train/evaluate/errors.h"

namespace halfstep::train {

double cross_entropy(std::span<const float> row, int32_t label) {
  const double largest = double{*std::max_element(row.begin(), row.end())};
  double sum = 0;
  for (const float logit : row) sum += std::exp(double{logit} - largest);
  return largest + std::log(sum) - double{row[static_cast<size_t>(label)]};
}

Tensor rows_of_logits(const Tensor& logits, int64_t labels) {
  const Dims dims = data::class_dims(logits.dims());
  const int64_t classes = dims.size() < 2 ? 0 : dims.back();
  if (classes == 0 || logits.size() != labels * classes)
    fail(errors::output_without_row_for_each_label(to_string(logits.dims()), labels));
  return logits.reshaped({labels, classes});
}

namespace {

bool has_classes(const Tensor& output) { return output.dims().size() == 2 && output.dims()[1] > 1; }

}  // namespace

void MetricSums::add(const Tensors& outputs, const Tensor& labels) {
  const Tensor logits = rows_of_logits(outputs.at(first_), labels.size());
  const auto of_samples = labels.data<int32_t>();
  const auto values = logits.data<float>();
  const auto classes = static_cast<size_t>(logits.dims()[1]);
  for (size_t i = 0; i < of_samples.size(); ++i)
    loss_ += cross_entropy(values.subspan(i * classes, classes), of_samples[i]);
  count_right(largest_of_rows(logits), {of_samples.begin(), of_samples.end()});
  samples_ += labels.size();
}

void MetricSums::add(const Tensors& outputs, const Tensors& wanted, int64_t count) {
  for (const auto& [name, spread] : spreads_) add_distance(outputs.at(name), wanted.at(name), spread, count);
  if (spreads_.contains(first_) && has_classes(outputs.at(first_)))
    count_right(largest_of_rows(outputs.at(first_)), largest_of_rows(wanted.at(first_)));
  samples_ += count;
}

void MetricSums::add(double loss, int64_t count) {
  loss_ += loss * static_cast<double>(count);
  samples_ += count;
}

void MetricSums::add_right(const Tensors& outputs, const Tensor& labels) {
  const auto of_samples = labels.data<int32_t>();
  count_right(largest_of_rows(rows_of_logits(outputs.at(first_), labels.size())),
              {of_samples.begin(), of_samples.end()});
}

void MetricSums::add_distance(const Tensor& output, const Tensor& wanted, float spread, int64_t count) {
  const auto a = output.data<float>(), b = wanted.data<float>();
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = (double{a[i]} - double{b[i]}) / double{spread};
    sum += difference * difference;
  }
  loss_ += static_cast<double>(count) * sum / static_cast<double>(std::max<size_t>(1, a.size()));
}

void MetricSums::count_right(const std::vector<int64_t>& found, const std::vector<int64_t>& expected) {
  seen_ += found.size();
  for (size_t i = 0; i < found.size(); ++i) right_ += found[i] == expected[i] ? 1U : 0U;
}

ValidationResult MetricSums::validation_result() const {
  ValidationResult validation_result;
  if (seen_ > 0) validation_result.right = static_cast<double>(right_) / static_cast<double>(seen_);
  validation_result.loss = loss_ / static_cast<double>(samples_);
  return validation_result;
}

}  // namespace halfstep::train
