// Softmax and normalization of rows of one-byte codes in f32. The error of f32 is bounded. If a result is so near to
// the boundary of two codes that the error matters, the exact rule decides. Included once for every target.
#if defined(HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_
#undef HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_
#else
#define HALFSTEP_KERNELS_INTEGER_BYTE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"
#include "halfstep/engine/kernels/codes/integer/cpu/lane_codes-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

using codes::HWY_NAMESPACE::CodeLanes;

/// Converts results to one-byte codes.
struct ByteTarget {
  ByteTarget(DType type, arith::Clamp of_codes, int32_t zero)
      : clamp(of_codes), zero_point(zero), codes({zero, of_codes, CodeLanes<uint8_t>(type).middle, 1}) {}

  uint8_t code(int64_t unbounded) const {
    return static_cast<uint8_t>(std::clamp<int64_t>(unbounded, clamp.low, clamp.high));
  }

  arith::Clamp clamp;
  int32_t zero_point;
  Codes<uint8_t> codes;
};

/// Results as float values, before the zero point, with a bound of each error.
struct Real {
  FloatVec value, error;
};

/// Codes of at most kVectors vectors of results, from element i on. If any result of a vector is too near to the
/// boundary of two codes, the exact rule computes the vector's codes.
template <int kVectors, class RealAt, class Rule>
HWY_INLINE void some_codes_of_floats(const ByteTarget& target, int64_t i, const RealAt& real, const Rule& rule,
                                     uint8_t* to) {
  constexpr int kMost = Codes<uint8_t>::kSums;
  const Floats d;
  const FloatVec half = hn::Set(d, 0.5F), most = hn::Set(d, 0x1p20F);  // above every code
  IntVec steps[kMost];
  hn::Mask<Floats> sure[kMost];
  HS_UNROLL for (int v = 0; v < kMost; ++v) {
    steps[v] = hn::Zero(Ints());
    if (v >= kVectors) continue;
    const Real at = real(i + v * kIntLanes);
    const FloatVec value = hn::Max(hn::Min(at.value, most), hn::Neg(most));
    steps[v] = nearest(value);
    const FloatVec margin = hn::MulAdd(hn::Abs(value), hn::Set(d, 0x1p-20F), at.error);
    sure[v] = hn::Lt(hn::Abs(value - hn::ConvertTo(d, steps[v])) + margin, half);
  }
  const auto codes = target.codes.in_order(steps);
  if constexpr (kVectors == kMost) {
    hn::StoreU(codes, Bytes(), to);
  } else {
    alignas(64) uint8_t all[kMost * kIntLanes];
    hn::Store(codes, Bytes(), all);
    std::memcpy(to, all, kVectors * kIntLanes);
  }
  HS_UNROLL for (int v = 0; v < kVectors; ++v) {
    if (hn::AllTrue(d, sure[v])) [[likely]]
      continue;
    for (int64_t k = v * kIntLanes; k < (v + 1) * kIntLanes; ++k) to[k] = target.code(rule(i + k));
  }
}

/// Codes of `count` results. real(i) returns a vector of results, rule(i) the exact code before the clamp.
template <class RealAt, class Rule>
HWY_INLINE void codes_of_floats(const ByteTarget& target, int64_t count, const RealAt& real, const Rule& rule,
                                uint8_t* to) {
  constexpr int kVectors = Codes<uint8_t>::kSums;
  int64_t i = 0;
  for (; i + kVectors * kIntLanes <= count; i += kVectors * kIntLanes)
    some_codes_of_floats<kVectors>(target, i, real, rule, to + i);
  if (i + 2 * kIntLanes <= count) {
    some_codes_of_floats<2>(target, i, real, rule, to + i);
    i += 2 * kIntLanes;
  }
  if (i + kIntLanes <= count) {
    some_codes_of_floats<1>(target, i, real, rule, to + i);
    i += kIntLanes;
  }
  for (; i < count; ++i) to[i] = target.code(rule(i));
}

inline constexpr int64_t kMostBias = int64_t{1} << 62;

/// Factors, biases and error bounds of a normalization as floats, by element: [factor][bias][error].
inline void norm_floats(const int32_t* factor, const int64_t* bias, int32_t shift, int64_t count, float* floats) {
  const double unit = std::ldexp(1.0, -shift);
  for (int64_t i = 0; i < count; ++i) {
    const double by = factor[i] * unit, offset = static_cast<double>(bias[i]) * unit;
    floats[i] = static_cast<float>(by);
    floats[count + i] = static_cast<float>(offset);
    // Normalized elements are rounded to integers. With a larger bias their products could overflow 64 bits.
    const double error = std::fabs(by) + (std::fabs(offset) + 1) * 0x1p-20;
    const bool is_small = bias[i] <= kMostBias && bias[i] >= -kMostBias;
    floats[2 * count + i] = is_small ? static_cast<float>(error) : HUGE_VALF;
  }
}

/// Most elements of a row. The sum of their squares fits into 32 bits.
inline constexpr int64_t kMostBytes = int64_t{1} << 14;

struct ByteSums {
  int64_t sum, squares;  ///< sums over codes as u8
};

HWY_INLINE ByteSums byte_sums(const uint8_t* x, uint8_t flip, int64_t count) {
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

/// Normalizes a row of codes. `floats` is the result of norm_floats.
HWY_INLINE void norm_bytes(const IntegerNorm& a, DType x_type, const int32_t* factor, const int64_t* bias,
                           const float* floats, const uint8_t* x, int64_t count, const ByteTarget& target, uint8_t* y) {
  const Floats d;
  const CodeLanes<uint8_t> lanes(x_type);
  const auto [of_codes, of_squares] = byte_sums(x, lanes.flip, count);
  const int64_t zero = a.x_zero_point + lanes.middle;  // zero point of codes as u8
  const int64_t sum = of_codes - count * zero, squares = of_squares - 2 * zero * of_codes + count * zero * zero;
  const auto guard = static_cast<int32_t>(a.guard);
  const auto elements = static_cast<double>(count);
  const auto square = static_cast<double>(arith::RowRoot::square(count, sum, squares, a.centered, a.epsilon, guard));
  const double unit = static_cast<double>(int64_t{1} << (guard / 2 + arith::kNormalizedBits));
  const double scale = square == 0 ? 0.0 : elements * unit / std::sqrt(square);
  const double mean = static_cast<double>(zero) + (a.centered ? static_cast<double>(sum) / elements : 0.0);
  const FloatVec means = hn::Set(d, static_cast<float>(mean)), scales = hn::Set(d, static_cast<float>(scale));
  const FloatVec off = hn::Set(d, static_cast<float>(scale * 0x1p-15));  // error of a code minus the mean
  const hn::Rebind<uint8_t, Ints> narrow;
  const auto flip = hn::Set(narrow, lanes.flip);
  codes_of_floats(
      target, count,
      [&](int64_t i) HWY_ATTR {
        const FloatVec by = hn::LoadU(d, floats + i);
        const IntVec code = hn::PromoteTo(Ints(), hn::Xor(hn::LoadU(narrow, x + i), flip));
        return Real{hn::MulAdd(hn::ConvertTo(d, code) - means, by * scales, hn::LoadU(d, floats + count + i)),
                    hn::MulAdd(hn::Abs(by), off, hn::LoadU(d, floats + 2 * count + i))};
      },
      [&](int64_t i) {
        const auto root = arith::RowRoot::of(count, sum, squares, a.centered, a.epsilon, guard);
        return arith::norm_code(root.normalized((x[i] ^ lanes.flip) - zero), factor[i], bias[i],
                                static_cast<int32_t>(a.shift), arith::ShiftRounding::half_up, target.zero_point);
      },
      y);
}

/// The largest of `count` codes, as u8.
HWY_INLINE uint8_t largest_byte(const uint8_t* x, uint8_t flip, int64_t count) {
  const Bytes d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  auto most = hn::Set(d, static_cast<uint8_t>(x[0] ^ flip));
  int64_t i = 0;
  for (; i + step <= count; i += step) most = hn::Max(most, hn::Xor(hn::LoadU(d, x + i), hn::Set(d, flip)));
  uint8_t largest = 0;
  for (; i < count; ++i) largest = std::max<uint8_t>(largest, x[i] ^ flip);
  const auto pairs = hn::BitCast(Words(), most);
  const auto of_pairs = hn::Max(hn::And(pairs, hn::Set(Words(), 255)), hn::ShiftRight<8>(pairs));
  return std::max(largest, static_cast<uint8_t>(hn::GetLane(hn::MaxOfLanes(Words(), of_pairs))));
}

/// Writes the exponentials of the codes' distances from the largest code to `line`. Returns their sum. `fine` is the
/// table of arith::Exponentials.
HWY_INLINE int64_t byte_exponentials(const int32_t* fine, DType type, const uint8_t* x, int64_t count, int32_t* line) {
  const Ints d;
  const hn::Repartition<uint64_t, Ints> longs;
  const hn::Rebind<uint8_t, Ints> narrow;
  const uint8_t flip = CodeLanes<uint8_t>(type).flip, top = largest_byte(x, flip, count);
  const auto code_flip = hn::Set(narrow, flip);
  const IntVec largest = hn::Set(d, top);
  auto sums = hn::Zero(longs);
  int64_t i = 0;
  for (; i + kIntLanes <= count; i += kIntLanes) {
    const IntVec code = hn::PromoteTo(d, hn::Xor(hn::LoadU(narrow, x + i), code_flip));
    const IntVec one = hn::GatherIndex(d, fine, largest - code);
    hn::StoreU(one, d, line + i);
    const auto pairs = hn::BitCast(longs, one);
    sums = sums + (hn::ShiftRight<32>(pairs) + hn::And(pairs, hn::Set(longs, UINT32_MAX)));
  }
  auto sum = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(longs, sums)));
  for (; i < count; ++i) sum += line[i] = fine[top - (x[i] ^ flip)];
  return sum;
}

/// Codes from exponentials and their sum. `unit` is 2^-shift of the factor.
HWY_INLINE void softmax_bytes(const int32_t* line, int64_t count, int64_t sum, arith::Multiplier factor, double unit,
                              const ByteTarget& target, uint8_t* y) {
  const Floats d;
  const FloatVec by = hn::Set(d, static_cast<float>(factor.m * unit / static_cast<double>(sum)));
  const FloatVec error = hn::Set(d, static_cast<float>(unit + 0x1p-20));  // the quotient is rounded down
  codes_of_floats(
      target, count,
      [&](int64_t i) HWY_ATTR {
        return Real{hn::ConvertTo(d, hn::LoadU(Ints(), line + i)) * by, error};
      },
      [&](int64_t i) {
        return arith::softmax_code(line[i], sum, factor, arith::ShiftRounding::half_up, target.zero_point);
      },
      y);
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
