// The order in which a reduction visits the elements of x.
#pragma once

#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// The axes of x as alternating reduced and kept groups of neighbours, outermost first.
class Groups {
 public:
  Groups() = default;
  /// `result` has the extents of the results. They are those of x, 1, or missing at the front.
  Groups(const Dims& x, const Dims& result);

  int64_t results() const { return results_; }
  /// Elements of x for each result, or 1 if there are no results.
  int64_t count() const { return count_; }
  /// Parts of x that share no result, and the results of one part.
  int64_t pieces() const { return pieces_; }
  int64_t piece_results() const { return results_ / pieces_; }

  /// Calls visit(first element, first result, elements, whether they all belong to that result), in the order of
  /// memory.
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
    int64_t extent, stride;  ///< stride in the results, 0 for a reduced group
  };
  std::vector<Group> groups_;
  int64_t results_ = 1, count_ = 1, pieces_ = 1, elements_ = 1;
};

}  // namespace halfstep::kernels
