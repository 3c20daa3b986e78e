// Results each of whose axes is read from an axis of the operand by a table.
#pragma once

#include <limits>
#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels::tensor {

/// In place of an offset: the element lies outside of the operand.
inline constexpr int64_t kOutside = std::numeric_limits<int64_t>::min();

/// Element (i, j, ...) of the result is element tables[0][i] + tables[1][j] + ... of the operand, or a value where one
/// of them is kOutside.
class Maps {
 public:
  /// One table for each axis of the result, outermost first.
  explicit Maps(std::vector<std::vector<int64_t>> tables);

  int64_t pieces() const { return ceil_div(rows_, rows_per_piece_); }
  /// `value`: what stands outside; nullptr stands for 0.
  void run(const ConstView& x, const void* value, const View& out, int64_t piece) const;

 private:
  template <class T>
  void copy(const T* src, T value, T* dst, int64_t piece) const;
  template <class T>
  void copy_row(const T* src, T value, T* dst) const;
  /// Offset of the rows of a line, or kOutside.
  int64_t line_offset(int64_t line) const;

  std::vector<std::vector<int64_t>> outer_;  ///< innermost first
  std::vector<int64_t> line_, row_;          ///< offsets of the rows of a line, of the elements of a row
  int64_t rows_ = 1, rows_per_piece_ = 1;
  int64_t run_begin_ = 0, run_end_ = 0;  ///< of a row: what is read in one go, with nothing but kOutside around it
};

/// The permutation that undoes `perm`.
std::vector<int64_t> inverse_axes(std::span<const int64_t> perm);

/// Elements from one position of an axis to the next, by axis.
std::vector<int64_t> dense_strides(std::span<const int64_t> dims);

}  // namespace halfstep::kernels::tensor
