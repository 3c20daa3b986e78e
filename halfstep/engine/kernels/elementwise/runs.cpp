#include "halfstep/engine/kernels/elementwise/runs.h"

namespace halfstep::kernels::elementwise {
namespace {

/// Strides of a dense operand along the axes of the result, innermost first. A stride is 0 where the operand repeats.
std::vector<int64_t> strides_along(const Dims& operand, const Dims& result) {
  std::vector<int64_t> strides(result.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t extent = operand[operand.size() - 1 - i];
    if (extent != 1) strides[i] = stride;
    stride *= extent;
  }
  return strides;
}

}  // namespace

Runs::Runs(std::span<const Type* const> operands, const Dims& result)
    : size_(count_elements(result)), steps_(operands.size(), 0), strides_(operands.size()) {
  std::vector<std::vector<int64_t>> along;
  for (const Type* type : operands) along.push_back(strides_along(type->dims, result));
  for (size_t axis = 0; axis < result.size(); ++axis) {
    const int64_t extent = result[result.size() - 1 - axis];
    if (extent == 1) continue;
    // Joins an axis with the inner one if each operand continues with an equal step.
    bool joins = !extents_.empty();
    for (size_t i = 0; joins && i < operands.size(); ++i)
      joins = along[i][axis] == strides_[i].back() * extents_.back();
    if (joins) {
      extents_.back() *= extent;
      continue;
    }
    extents_.push_back(extent);
    for (size_t i = 0; i < operands.size(); ++i) strides_[i].push_back(along[i][axis]);
  }
  if (extents_.empty()) return;
  length_ = std::max<int64_t>(extents_.front(), 1);
  extents_.erase(extents_.begin());
  for (size_t i = 0; i < operands.size(); ++i) {
    steps_[i] = strides_[i].front();
    strides_[i].erase(strides_[i].begin());
  }
}

int64_t Runs::offset(size_t operand, int64_t run) const {
  int64_t offset = 0;
  for (size_t axis = 0; axis < extents_.size(); ++axis) {
    offset += run % extents_[axis] * strides_[operand][axis];
    run /= extents_[axis];
  }
  return offset;
}

}  // namespace halfstep::kernels::elementwise
