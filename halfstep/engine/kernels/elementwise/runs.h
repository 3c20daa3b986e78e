// Runs of operands along a broadcast result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/shape.h"

namespace halfstep::kernels::elementwise {

/// Elements of a piece, up to about 10 us of work. Two threads can share small tensors, and the operands of a piece fit
/// into the second-level cache.
inline constexpr int64_t kPiece = 8192;

/// Pieces that cover `size` elements. An empty result has one empty piece.
constexpr int64_t pieces(int64_t size) { return std::max<int64_t>(1, ceil_div(size, kPiece)); }

/// Cuts a result into the longest runs of equal length in which every operand either moves with the result or repeats.
class Runs {
 public:
  /// Aligns the trailing extents of operands and result. An operand repeats along an axis of extent 1, or a missing
  /// one.
  Runs(std::span<const Type* const> operands, const Dims& result);

  /// Elements of the result and of one run.
  int64_t size() const { return size_; }
  int64_t length() const { return length_; }
  /// Elements that the operand moves between neighbouring elements of a run: 1 or 0.
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
  std::vector<int64_t> steps_;                 ///< steps by operand
  std::vector<int64_t> extents_;               ///< extents of the axes around a run, innermost first
  std::vector<std::vector<int64_t>> strides_;  ///< strides by operand, along these axes
};

}  // namespace halfstep::kernels::elementwise
