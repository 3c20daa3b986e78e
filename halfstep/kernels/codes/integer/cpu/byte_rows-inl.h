// Softmax and normalization of rows of codes of a byte, in f32: its error is bounded, and where a result lies so near
// to the boundary of two codes that the error counts, the rule decides. Included once for every target.
#if defined(HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_
#undef HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_
#else
#define HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "halfstep/arith/row_norm.h"
#include "halfstep/arith/row_softmax.h"
#include "halfstep/kernels/codes/requantize-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using codes::HWY_NAMESPACE::CodeLanes;
using codes::HWY_NAMESPACE::Floats;
using codes::HWY_NAMESPACE::FloatVec;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;

/// A row of codes to be.
struct ByteRow {
  DType type;
  arith::Clamp clamp;
  int32_t zero_point;
  uint8_t* to;

  void store(int64_t i, int64_t code) const {
    to[i] = static_cast<uint8_t>(std::clamp<int64_t>(code, clamp.low, clamp.high));
  }
};

/// Codes of `count` results: real(i) gives a vector of them plus a half and how far off each may be, and rule(i) the
/// code itself before the clamp.
template <class Real, class Rule>
HWY_INLINE void codes_of_reals(const ByteRow& row, int64_t count, Real&& real, Rule&& rule) {
  const Floats d;
  const Ints ints;
  const CodeLanes<uint8_t> lanes(row.type);
  const IntVec low = hn::Set(ints, row.clamp.low), high = hn::Set(ints, row.clamp.high);
  const IntVec zero_point = hn::Set(ints, row.zero_point);
  const FloatVec half = hn::Set(d, 0.5F), most = hn::Set(d, 0x1p20F);  // beyond every code
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto [unbounded, error] = real(i);
    const FloatVec value = hn::Max(hn::Min(unbounded, most), hn::Neg(most)), below = hn::Floor(value);
    const FloatVec margin = hn::MulAdd(hn::Abs(value), hn::Set(d, 0x1p-20F), error);
    if (hn::AllTrue(d, hn::Lt(hn::Abs(value - below - half), half - margin))) {
      const IntVec codes = hn::ConvertTo(ints, below) + zero_point;
      lanes.store(hn::Min(hn::Max(codes, low), high), row.to + i);
    } else {
      for (int64_t k = i; k < i + step; ++k) row.store(k, rule(k));
    }
  }
  for (; i < count; ++i) row.store(i, rule(i));
}

inline constexpr int64_t kMostBias = int64_t{1} << 62;

/// What a normalization adds to and multiplies with, by element: [factor][bias and a half][error], as reals of codes.
inline void norm_reals(const int32_t* factor, const int64_t* bias, int32_t shift, int64_t count, float* reals) {
  const double unit = std::ldexp(1.0, -shift);
  for (int64_t i = 0; i < count; ++i) {
    const double by = factor[i] * unit, offset = static_cast<double>(bias[i]) * unit + 0.5;
    reals[i] = static_cast<float>(by);
    reals[count + i] = static_cast<float>(offset);
    // Normalized elements are rounded to whole numbers; with a larger bias their products could pass 64 bits.
    const double error = std::fabs(by) + (std::fabs(offset) + 1) * 0x1p-20;
    const bool is_small = bias[i] <= kMostBias && bias[i] >= -kMostBias;
    reals[2 * count + i] = is_small ? static_cast<float>(error) : HUGE_VALF;
  }
}

/// Elements of a row whose squares add up within 32 bits.
inline constexpr int64_t kMostBytes = int64_t{1} << 14;

struct ByteSums {
  int64_t sum, squares;  ///< of codes as u8
};

inline ByteSums byte_sums(const uint8_t* x, uint8_t flip, int64_t count) {
  const Ints d;
  const hn::Repartition<int16_t, Ints> shorts;
  const hn::Rebind<uint8_t, decltype(shorts)> bytes;
  const auto step = static_cast<int64_t>(hn::Lanes(shorts));
  IntVec sums = hn::Zero(d), squares = hn::Zero(d), rest = hn::Zero(d);  // rest stays zero on x86
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto codes = hn::PromoteTo(shorts, hn::Xor(hn::LoadU(bytes, x + i), hn::Set(bytes, flip)));
    sums = hn::ReorderWidenMulAccumulate(d, codes, hn::Set(shorts, 1), sums, rest);
    squares = hn::ReorderWidenMulAccumulate(d, codes, codes, squares, rest);
  }
  ByteSums result{hn::GetLane(hn::SumOfLanes(d, sums)), hn::GetLane(hn::SumOfLanes(d, squares))};
  for (; i < count; ++i) {
    const int64_t code = x[i] ^ flip;
    result.sum += code;
    result.squares += code * code;
  }
  return result;
}

/// `reals` are norm_reals'.
inline void norm_bytes(const IntegerNorm& a, DType x_type, const int32_t* factor, const int64_t* bias,
                       const float* reals, const uint8_t* x, int64_t count, const ByteRow& row) {
  const Floats d;
  const CodeLanes<uint8_t> lanes(x_type);
  const auto [sum, squares] = byte_sums(x, lanes.flip, count);
  const int64_t zero = a.x_zero_point + lanes.middle;  // of codes as u8
  const auto root = arith::RowRoot::of(count, sum - count * zero, squares - 2 * zero * sum + count * zero * zero,
                                       a.centered, a.epsilon, static_cast<int32_t>(a.guard));
  const auto elements = static_cast<double>(count);
  const double scale =
      root.root == 0 ? 0.0 : elements * static_cast<double>(uint64_t{1} << root.shift) / static_cast<double>(root.root);
  const double mean = static_cast<double>(a.x_zero_point) + static_cast<double>(root.sum) / elements;
  const FloatVec means = hn::Set(d, static_cast<float>(mean)), scales = hn::Set(d, static_cast<float>(scale));
  const FloatVec off = hn::Set(d, static_cast<float>(scale * 0x1p-15));  // of a code beside its mean
  struct Real {
    FloatVec value, error;
  };
  codes_of_reals(
      row, count,
      [&](int64_t i) {
        const FloatVec by = hn::LoadU(d, reals + i), code = hn::ConvertTo(d, lanes.load(x + i));
        return Real{hn::MulAdd(code - means, by * scales, hn::LoadU(d, reals + count + i)),
                    hn::MulAdd(hn::Abs(by), off, hn::LoadU(d, reals + 2 * count + i))};
      },
      [&](int64_t i) {
        const int64_t steps = (x[i] ^ lanes.flip) - zero;
        return arith::norm_code(root.normalized(steps), factor[i], bias[i], static_cast<int32_t>(a.shift),
                                arith::ShiftRounding::half_up, row.zero_point);
      });
}

/// Of exponentials and their sum.
inline void softmax_bytes(const int32_t* line, int64_t count, int64_t sum, arith::Multiplier factor,
                          const ByteRow& row) {
  const Floats d;
  const double unit = std::ldexp(1.0, -factor.shift);
  const FloatVec scale = hn::Set(d, static_cast<float>(factor.m * unit / static_cast<double>(sum)));
  const FloatVec error = hn::Set(d, static_cast<float>(unit + 0x1p-20));  // the quotient is rounded down
  struct Real {
    FloatVec value, error;
  };
  codes_of_reals(
      row, count,
      [&](int64_t i) {
        const FloatVec one = hn::ConvertTo(d, hn::LoadU(Ints(), line + i));
        return Real{hn::MulAdd(one, scale, hn::Set(d, 0.5F)), error};
      },
      [&](int64_t i) {
        return arith::softmax_code(line[i], sum, factor, arith::ShiftRounding::half_up, row.zero_point);
      });
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
