// What batches of outputs add up to: how right they are, and their loss.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halfstep/train/evaluate/standing.h"

namespace halfstep::train {

/// The outputs that so many labels ask for, a row for each: f32 [labels, classes]. Throws where these are not as many.
Tensor rows_of_logits(const Tensor& logits, int64_t labels);
/// -log softmax(row)[label], in float64.
double cross_entropy(std::span<const float> row, int32_t label);

class Tally {
 public:
  /// `first`: the output that decides what is right. `spreads`: of a teacher's outputs; none with labels. It must
  /// outlive the tally.
  Tally(std::string first, const Spreads& spreads) : first_(std::move(first)), spreads_(spreads) {}

  /// i32 labels, one for each row of the first output. Throws where these are not as many.
  void add(const Tensors& outputs, const Tensor& labels);
  /// What a teacher has for the same `count` samples.
  void add(const Tensors& outputs, const Tensors& wanted, int64_t count);

  Standing standing() const;

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
