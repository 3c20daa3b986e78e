// Results in which a table for each axis selects the elements of the operand.
#pragma once

#include <limits>
#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels::tensor {

/// Offset of an element outside of the operand.
inline constexpr int64_t kOutside = std::numeric_limits<int64_t>::min();

/// Element (i, j, ...) of the result is element tables[0][i] + tables[1][j] + ... of the operand. If one of them is
/// kOutside, it is a fixed value.
class Maps {
 public:
  /// Takes one table for each axis of the result, outermost first.
  explicit Maps(std::vector<std::vector<int64_t>> tables);

  int64_t pieces() const { return ceil_div(rows_, rows_per_piece_); }
  /// `value` is the element for positions outside of the operand, or nullptr for 0.
  void run(const ConstView& x, const void* value, const View& out, int64_t piece) const;

 private:
  template <class T>
  void copy(const T* src, T value, T* dst, int64_t piece) const;
  template <class T>
  void copy_row(const T* src, T value, T* dst) const;
  /// Offset of the rows of a line, or kOutside.
  int64_t line_offset(int64_t line) const;

  std::vector<std::vector<int64_t>> outer_;  ///< tables of the outer axes, innermost first
  std::vector<int64_t> line_, row_;          ///< offsets of the rows of a line, and of the elements of a row
  int64_t rows_ = 1, rows_per_piece_ = 1;
  int64_t run_begin_ = 0, run_end_ = 0;  ///< contiguous part of a row, surrounded only by kOutside
};

/// The inverse of the permutation `perm`.
std::vector<int64_t> inverse_axes(std::span<const int64_t> perm);

/// Distance of neighbouring positions of each axis, in elements.
std::vector<int64_t> dense_strides(std::span<const int64_t> dims);

}  // namespace halfstep::kernels::tensor
