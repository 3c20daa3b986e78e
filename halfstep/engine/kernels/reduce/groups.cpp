#include "halfstep/engine/kernels/reduce/groups.h"

namespace halfstep::kernels {

Groups::Groups(const Dims& x, const Dims& result) : results_(count_elements(result)), elements_(count_elements(x)) {
  if (results_ != 0) count_ = elements_ / results_;
  const size_t missing = x.size() - result.size();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 1) continue;
    const bool reduced = i < missing || result[i - missing] != x[i];
    const bool joins = !groups_.empty() && (groups_.back().stride == 0) == reduced;
    if (joins) {
      groups_.back().extent *= x[i];
    } else {
      groups_.push_back({x[i], reduced ? 0 : 1});
    }
  }
  int64_t stride = 1;
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (group->stride == 0) continue;
    group->stride = stride;
    stride *= group->extent;
  }
  if (groups_.size() > 1 && groups_[0].stride != 0 && groups_[0].extent > 0) pieces_ = groups_[0].extent;
  if (groups_.empty()) groups_.push_back({1, 1});
}

}  // namespace halfstep::kernels
