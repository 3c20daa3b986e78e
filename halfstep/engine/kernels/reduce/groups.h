// The order in which a reduction meets the elements of x.
#pragma once

#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// x as axes that are reduced and axes that are kept in turn, neighbours joined, outermost first.
class Groups {
 public:
  Groups() = default;
  /// `result`: extents of the results; those of x, or 1, or missing in front.
  Groups(const Dims& x, const Dims& result);

  int64_t results() const { return results_; }
  /// Elements of x for each result; 1 where there is no result.
  int64_t count() const { return count_; }
  /// Parts of x that share no result, and the results of one.
  int64_t pieces() const { return pieces_; }
  int64_t piece_results() const { return results_ / pieces_; }

  /// visit(first element, first result, elements, whether they all belong to that result), in the order of memory.
  template <class Visit>
  void for_each_run(int64_t piece, const Visit& visit) const {
    if (elements_ == 0) return;
    const Group& last = groups_.back();
    std::vector<int64_t> place(groups_.size(), 0);
    int64_t result = piece * piece_results();
    const int64_t begin = piece * (elements_ / pieces_), end = begin + elements_ / pieces_;
    for (int64_t at = begin; at < end; at += last.extent) {
      visit(at, result, last.extent, last.stride == 0);
      for (size_t i = groups_.size() - 1; i-- > 0;) {
        result += groups_[i].stride;
        if (++place[i] < groups_[i].extent) break;
        result -= groups_[i].stride * groups_[i].extent;
        place[i] = 0;
      }
    }
  }

 private:
  struct Group {
    int64_t extent, stride;  ///< of the results; 0 where it is reduced
  };
  std::vector<Group> groups_;
  int64_t results_ = 1, count_ = 1, pieces_ = 1, elements_ = 1;
};

}  // namespace halfstep::kernels
