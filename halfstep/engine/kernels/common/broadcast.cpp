#include "halfstep/engine/kernels/common/broadcast.h"

namespace halfstep::kernels {
namespace {

/// Distance of the elements of `operand` along each axis of a result of this rank.
std::vector<int64_t> steps_of(std::span<const int64_t> operand, size_t rank) {
  std::vector<int64_t> steps(rank, 0);
  int64_t step = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t extent = operand[operand.size() - 1 - i];
    if (extent != 1) steps[rank - 1 - i] = step;
    step *= extent;
  }
  return steps;
}

}  // namespace

BroadcastRuns::BroadcastRuns(std::span<const int64_t> a, std::span<const int64_t> b, std::span<const int64_t> result) {
  const auto a_steps = steps_of(a, result.size()), b_steps = steps_of(b, result.size());
  for (size_t axis = 0; axis < result.size(); ++axis) {
    if (result[axis] == 1) continue;
    const bool joins =
        !extent_.empty() && a_.back() == a_steps[axis] * result[axis] && b_.back() == b_steps[axis] * result[axis];
    if (!joins) {
      extent_.push_back(1);
      a_.push_back(0);
      b_.push_back(0);
    }
    extent_.back() *= result[axis];
    a_.back() = a_steps[axis];
    b_.back() = b_steps[axis];
  }
  if (extent_.empty()) extent_ = a_ = b_ = {1};
  length_ = extent_.back();
  for (size_t axis = 0; axis + 1 < extent_.size(); ++axis) count_ *= extent_[axis];
}

BroadcastRuns::Run BroadcastRuns::run(int64_t index) const {
  Run run{index * length_, 0, 0};
  for (size_t axis = extent_.size() - 1; axis-- > 0;) {
    const int64_t at = index % extent_[axis];
    index /= extent_[axis];
    run.a += at * a_[axis];
    run.b += at * b_[axis];
  }
  return run;
}

}  // namespace halfstep::kernels
