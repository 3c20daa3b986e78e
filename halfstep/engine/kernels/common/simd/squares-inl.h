// Transposes matrices of f32 in squares of four by four. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_SQUARES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_SQUARES_INL_H_
#undef HALFSTEP_KERNELS_SQUARES_INL_H_
#else
#define HALFSTEP_KERNELS_SQUARES_INL_H_
#endif

#include <cstdint>

#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::squares::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Transposes four rows of four elements. Rows are `from_step` apart, columns of the result `to_step`.
HWY_INLINE void turn_square(const float* from, int64_t from_step, float* to, int64_t to_step) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_step);
  const auto r2 = hn::LoadU(d, from + 2 * from_step), r3 = hn::LoadU(d, from + 3 * from_step);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + to_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * to_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * to_step);
}

/// Transposes [rows, columns] to [columns, rows]. Rows need not be contiguous.
inline void turn(const float* from, int64_t from_step, int64_t rows, int64_t columns, float* to, int64_t to_step) {
  const int64_t whole_rows = rows / 4 * 4, whole = columns / 4 * 4;
  for (int64_t r = 0; r < whole_rows; r += 4) {
    for (int64_t c = 0; c < whole; c += 4)
      turn_square(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole : 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];
  }
}

}  // namespace halfstep::kernels::squares::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_SQUARES_INL_H_
