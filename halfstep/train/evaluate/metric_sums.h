// Accumulates accuracy and loss over batches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halfstep/train/evaluate/history.h"

namespace halfstep::train {

/// One row of outputs for each label: f32 [labels, classes]. Throws if the number of rows differs.
Tensor rows_of_logits(const Tensor& logits, int64_t labels);
/// -log softmax(row)[label], in float64.
double cross_entropy(std::span<const float> row, int32_t label);

class MetricSums {
 public:
  /// `first` is the output that determines accuracy. `spreads` belong to a teacher's outputs and are empty with labels.
  /// The reference must outlive the sums.
  MetricSums(std::string first, const Spreads& spreads) : first_(std::move(first)), spreads_(spreads) {}

  /// i32 labels, one for each row of the first output. Throws if the numbers differ.
  void add(const Tensors& outputs, const Tensor& labels);
  /// Adds outputs and those of a teacher for the same `count` samples.
  void add(const Tensors& outputs, const Tensors& wanted, int64_t count);

  /// Adds the mean loss of `count` samples.
  void add(double loss, int64_t count);
  /// Counts the rows of the first output whose largest element is their label, without a loss.
  void add_right(const Tensors& outputs, const Tensor& labels);

  ValidationResult validation_result() const;

 private:
  void add_distance(const Tensor& output, const Tensor& wanted, float spread, int64_t count);
  void count_right(const std::vector<int64_t>& found, const std::vector<int64_t>& expected);

  std::string first_;
  const Spreads& spreads_;
  double loss_ = 0;
  int64_t samples_ = 0;
  size_t seen_ = 0, right_ = 0;
};

}  // namespace halfstep::train
