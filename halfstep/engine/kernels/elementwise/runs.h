// How operands walk along a broadcast result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/shape.h"

namespace halfstep::kernels::elementwise {

/// Elements of a piece: up to some 10 us of work, so that two threads share small tensors, and operands of it fit the
/// second-level cache.
inline constexpr int64_t kPiece = 8192;

/// Pieces that cover `size` elements; an empty result is one empty piece.
constexpr int64_t pieces(int64_t size) { return std::max<int64_t>(1, ceil_div(size, kPiece)); }

/// Cuts a result into runs of equal length, the longest within which every operand either moves with the result or
/// is repeated.
class Runs {
 public:
  /// Trailing extents of operand and result are aligned; an extent of 1, or none, repeats.
  Runs(std::span<const Type* const> operands, const Dims& result);

  /// Elements of the result and of one run.
  int64_t size() const { return size_; }
  int64_t length() const { return length_; }
  /// How far the operand moves from one element of a run to the next: 1 or 0.
  int64_t step(size_t operand) const { return steps_[operand]; }
  /// Element of the operand at which a run starts.
  int64_t offset(size_t operand, int64_t run) const;

  /// Calls visit(run, first, count) for the elements [begin, end) of the result: `count` elements from element `first`
  /// of a run.
  template <class Visit>
  void for_each(int64_t begin, int64_t end, const Visit& visit) const {
    while (begin < end) {
      const int64_t first = begin % length_;
      const int64_t count = std::min(length_ - first, end - begin);
      visit(begin / length_, first, count);
      begin += count;
    }
  }

 private:
  int64_t size_ = 0;
  int64_t length_ = 1;
  std::vector<int64_t> steps_;                 ///< by operand
  std::vector<int64_t> extents_;               ///< of the axes around a run, innermost first
  std::vector<std::vector<int64_t>> strides_;  ///< by operand, along those axes
};

}  // namespace halfstep::kernels::elementwise
