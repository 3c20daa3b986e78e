// Products of two values of one-byte codes, with the micro-kernels of layers. Rows of a are the pixels. Every call
// packs b like weights, with one channel for each column. For int16 codes, packing subtracts the zero points. Bytes
// keep them: with a' = a as u8, b' = b as i8 and their zero points a0 and b0,
// sum (a' - a0) * (b' - b0) = sum a' * b' - b0 * sum a' + (depth * a0 * b0 - a0 * sum b'), modulo 2^32.
#pragma once

#include <algorithm>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/codes/contraction.h"
#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_tiling.h"

namespace halfstep::kernels::integer {

/// Zero points of the operands, as codes.
struct ZeroPoints {
  int64_t a = 0, b = 0;
};

/// Sums of some rows and columns of a product.
struct SumsTile {
  int64_t row, rows, column, columns;
  const int32_t* sums;  ///< rows are kBlockOutputs apart

  /// Copies the sums to their position in a block, whose rows are `step` apart.
  void copy_to(int32_t* block, int64_t step) const {
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(sums + i * kBlockOutputs, columns, block + (row + i) * step + column);
  }
};

class CodeMatmul {
 public:
  /// Takes operands of u8 or i8, and a level from avx2 on.
  CodeMatmul(const Contraction& product, DType a, DType b, CpuLevel level);

  const Contraction& product() const { return product_; }
  /// Bytes of a packed operand b.
  int64_t b_bytes() const { return vectors() * (vector_bytes() + kLanes * 4); }
  /// Bytes of a packed block of rows of a.
  int64_t a_bytes() const { return rows_ * (words() + 1) * 4; }
  int64_t blocks() const { return ceil_div(product_.rows, rows_); }
  int64_t first_row(int64_t block) const { return block * rows_; }
  int64_t rows(int64_t block) const { return std::min(rows_, product_.rows - first_row(block)); }

  /// Packs the operand b of one batch.
  void pack_b(const ZeroPoints& zero_points, const void* b, std::byte* packed) const;
  /// Packs a block of rows of the operand a of one batch.
  void pack_a(const ZeroPoints& zero_points, const void* a, int64_t block, std::byte* packed) const;

  /// Calls finish(SumsTile) for all sums of a block of packed operands. Row 0 is the block's first row. Some sums come
  /// twice.
  template <class Finish>
  void multiply(const ZeroPoints& zero_points, const std::byte* a, const std::byte* b, int64_t block,
                Finish&& finish) const {
    alignas(64) int32_t sums[(kTilePixels + kRowsBehind) * kBlockOutputs];
    const int64_t all = rows(block), step = std::min(all, tile_rows_);
    for (int64_t vector = 0; vector < vectors(); vector += 2) {
      for (int64_t next = 0; next < all; next += step) {
        const int64_t row = std::min(next, all - step), column = vector * kLanes;
        add_up(zero_points, a, b, row, step, vector, sums);
        finish(SumsTile{row, step, column, std::min(kBlockOutputs, product_.columns - column), sums});
      }
    }
  }

 private:
  /// An operand in the form in which it is multiplied.
  struct Factor {
    int64_t zero_point = 0;  ///< zero point of bytes, after `flip` where that flips their highest bit
    uint8_t flip = 0;
  };
  Factor factor(DType type, int64_t zero_point, bool is_first) const;

  int64_t words() const { return ceil_div(product_.depth * code_bytes_, int64_t{4}); }
  int64_t vectors() const { return ceil_div(product_.columns, kLanes); }
  int64_t vector_bytes() const { return words() * kLanes * 4; }

  void pack_b_bytes(const ZeroPoints& zero_points, const uint8_t* b, std::byte* packed) const;
  void pack_a_bytes(const ZeroPoints& zero_points, const uint8_t* a, int64_t block, std::byte* packed) const;
  template <class Code>
  void pack_b_shorts(int64_t zero_point, const Code* b, std::byte* packed) const;
  template <class Code>
  void pack_a_shorts(int64_t zero_point, const Code* a, int64_t block, std::byte* packed) const;
  void add_up(const ZeroPoints& zero_points, const std::byte* a, const std::byte* b, int64_t row, int64_t rows,
              int64_t vector, int32_t* sums) const;

  Contraction product_;
  DType a_, b_;
  bool are_bytes_;  ///< multiplies bytes, otherwise int16
  int64_t code_bytes_;
  NhwcEngine engine_;
  int64_t rows_, tile_rows_;  ///< most rows of a block and of a tile
};

}  // namespace halfstep::kernels::integer
