// core/arith/requantizer.h on vectors: turns accumulators, and pairs of codes, into codes. Included once for every
// target.
#if defined(HALFSTEP_KERNELS_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_REQUANTIZE_INL_H_
#undef HALFSTEP_KERNELS_REQUANTIZE_INL_H_
#else
#define HALFSTEP_KERNELS_REQUANTIZE_INL_H_
#endif

#include <limits>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::codes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<int32_t>;
using IntVec = hn::Vec<Ints>;
using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;
using Longs = hn::Repartition<int64_t, Ints>;
using LongVec = hn::Vec<Longs>;

/// Codes of one or two bytes in memory. Word is the unsigned type of that size. A signed code plus half the range is an
/// unsigned code, which differs only in the highest bit.
template <class Word>
struct CodeLanes {
  using Narrow = hn::Rebind<Word, Ints>;

  explicit CodeLanes(DType codes)
      : middle(is_signed(codes) ? 1 << (8 * sizeof(Word) - 1) : 0), flip(static_cast<Word>(middle)) {}

  HWY_INLINE IntVec load(const Word* from) const {
    const Narrow narrow;
    return hn::PromoteTo(Ints(), hn::Xor(hn::LoadU(narrow, from), hn::Set(narrow, flip))) - hn::Set(Ints(), middle);
  }
  /// Stores codes of this type.
  HWY_INLINE void store(IntVec codes, Word* to) const {
    const Narrow narrow;
    hn::StoreU(hn::Xor(hn::DemoteTo(narrow, codes + hn::Set(Ints(), middle)), hn::Set(narrow, flip)), narrow, to);
  }

  int32_t middle;
  Word flip;
};

/// Rounds steps below 2^31 to the nearest integers. Smaller than int32, they become its least value.
inline IntVec nearest(FloatVec steps) {
#if HWY_TARGET == HWY_AVX3
  return IntVec{_mm512_cvtps_epi32(steps.raw)};
#else
  return IntVec{_mm256_cvtps_epi32(steps.raw)};
#endif
}

/// arith::whole_steps on vectors.
inline IntVec whole_steps(FloatVec steps) {
  const FloatVec most = hn::Set(Floats(), arith::kMostSteps);
  return nearest(hn::Max(hn::Min(steps, most), hn::Neg(most)));
}

/// int32 lanes as int64: those with even index, and those with odd index.
struct Halves {
  LongVec even, odd;
};

/// Shifts each int64 of `v` right by 32 bits, which moves odd int32 lanes to even ones.
inline IntVec odd_to_even(IntVec v) {
  return hn::BitCast(Ints(), hn::ShiftRight<32>(hn::BitCast(hn::Repartition<uint64_t, Ints>(), v)));
}

inline Halves product(IntVec a, IntVec b) { return {hn::MulEven(a, b), hn::MulEven(odd_to_even(a), odd_to_even(b))}; }
inline Halves product(IntVec a, int32_t m) {
  const IntVec factor = hn::Set(Ints(), m);
  return {hn::MulEven(a, factor), hn::MulEven(odd_to_even(a), factor)};
}

/// The low 32 bits of both halves.
inline IntVec joined(LongVec even, LongVec odd) {
  return hn::OddEven(hn::BitCast(Ints(), hn::ShiftLeft<32>(odd)), hn::BitCast(Ints(), even));
}

// A shift is one number, or one for each lane.

inline LongVec dropped(LongVec v, int bits) { return hn::ShiftRightSame(v, bits); }
inline LongVec dropped(LongVec v, LongVec bits) { return v >> bits; }
inline LongVec half_step(int shift) { return hn::Set(Longs(), int64_t{1} << (shift - 1)); }
inline LongVec half_step(LongVec shift) { return hn::Set(Longs(), 1) << (shift - hn::Set(Longs(), 1)); }

/// Term that arith::shift_right adds to `v` before it drops bits, in rounding modes that round once.
template <class Shift>
HWY_INLINE LongVec half_of(LongVec v, Shift shift, arith::ShiftRounding rounding) {
  const Longs d;
  const LongVec half = half_step(shift), one = hn::Set(d, 1);
  switch (rounding) {
    case arith::ShiftRounding::truncate: return hn::Zero(d);
    case arith::ShiftRounding::half_even: return half - one + hn::And(dropped(v, shift), one);
    case arith::ShiftRounding::half_away: return half + hn::BroadcastSignBit(v);
    default: return half;
  }
}

template <class Shift>
HWY_INLINE LongVec rounded_once(LongVec v, Shift shift, arith::ShiftRounding rounding) {
  return dropped(v + half_of(v, shift, rounding), shift);
}

/// arith::shift_right for numbers below 2^62 in magnitude.
inline LongVec shift_right(LongVec v, int shift, arith::ShiftRounding rounding) {
  using arith::ShiftRounding;
  constexpr int kFirst = arith::kDoubledShift;
  if (rounding != ShiftRounding::doubled || shift <= kFirst) return rounded_once(v, shift, rounding);
  return rounded_once(rounded_once(v, kFirst, ShiftRounding::half_up), shift - kFirst, ShiftRounding::half_away);
}
/// Like shift_right, with a shift for each lane.
HWY_INLINE LongVec shift_right(LongVec v, LongVec shift, arith::ShiftRounding rounding) {
  using arith::ShiftRounding;
  if (rounding != ShiftRounding::doubled) return rounded_once(v, shift, rounding);
  const LongVec first = hn::Min(shift, hn::Set(Longs(), arith::kDoubledShift)), rest = shift - first;
  const LongVec upper = rounded_once(v, first, ShiftRounding::half_up);
  const LongVec twice = rounded_once(upper, hn::Max(rest, hn::Set(Longs(), 1)), ShiftRounding::half_away);
  return hn::IfThenElse(hn::Eq(rest, hn::Zero(Longs())), upper, twice);
}

/// shift_right plus the zero point, saturated to int32.
inline IntVec saturated(Halves v, int shift, arith::ShiftRounding rounding, int32_t zero_point) {
  using Limits = std::numeric_limits<int32_t>;
  const Longs d;
  const LongVec offset = hn::Set(d, int64_t{zero_point});
  const LongVec low = hn::Set(d, int64_t{Limits::min()});
  const LongVec high = hn::Set(d, int64_t{Limits::max()});
  const auto code = [&](LongVec x) { return hn::Min(hn::Max(shift_right(x, shift, rounding) + offset, low), high); };
  return joined(code(v.even), code(v.odd));
}

/// From this shift on, steps follow from the products' upper halves alone. Then m < 2^31 <= 2^shift / 2. Steps are
/// therefore at most 2^30 in magnitude, and with a zero point they still fit an int32.
inline constexpr int kUpperHalf = 32;

/// arith::scale plus the zero point, saturated to int32.
inline IntVec scaled(IntVec acc, arith::Multiplier factor, arith::ShiftRounding rounding, int32_t zero_point) {
  const Halves v = product(acc, factor.m);
  if (factor.shift < kUpperHalf) return saturated(v, factor.shift, rounding, zero_point);
  if (rounding == arith::ShiftRounding::doubled)
    return joined(shift_right(v.even, factor.shift, rounding), shift_right(v.odd, factor.shift, rounding)) +
           hn::Set(Ints(), zero_point);
  const IntVec even = odd_to_even(hn::BitCast(Ints(), v.even + half_of(v.even, factor.shift, rounding)));
  const IntVec odd = hn::BitCast(Ints(), v.odd + half_of(v.odd, factor.shift, rounding));
  return hn::ShiftRightSame(hn::OddEven(odd, even), factor.shift - kUpperHalf) + hn::Set(Ints(), zero_point);
}

/// The code before the clamp, saturated to int32.
inline IntVec code_of(IntVec acc, const arith::FixedScale& scale, int32_t zero_point) {
  const IntVec code = scaled(acc, scale.positive, scale.rounding, zero_point);
  if (scale.positive == scale.negative) return code;
  return hn::IfThenElse(hn::Lt(acc, hn::Zero(Ints())), scaled(acc, scale.negative, scale.rounding, zero_point), code);
}

/// arith::FloatScale::code on vectors.
inline IntVec code_of(IntVec acc, const arith::FloatScale& scale, int32_t zero_point) {
  const Floats d;
  const FloatVec real = hn::ConvertTo(d, acc) * hn::Set(d, scale.scale) * hn::Set(d, scale.channel_scale);
  const FloatVec steps = (real + hn::Set(d, scale.bias)) * hn::Set(d, scale.factor);
  if (scale.zero_inside) return whole_steps(steps + hn::Set(d, static_cast<float>(zero_point)));
  return whole_steps(steps) + hn::Set(Ints(), zero_point);
}

inline IntVec code_of(IntVec acc, const arith::Requantizer& requantizer, int32_t zero_point) {
  if (const auto* scale = std::get_if<arith::FloatScale>(&requantizer)) return code_of(acc, *scale, zero_point);
  return code_of(acc, *std::get_if<arith::FixedScale>(&requantizer), zero_point);
}

/// code_of for rows of accumulators: one multiplier, half up, and a shift by at least kUpperHalf.
struct HalfUpLanes {
  HalfUpLanes(arith::Multiplier factor, int32_t zero)
      : multiplier(hn::Set(Ints(), factor.m)),
        zero_point(hn::Set(Ints(), zero)),
        half(hn::Set(Longs(), int64_t{1} << (factor.shift - 1))),
        shift(factor.shift - kUpperHalf) {}

  HWY_INLINE IntVec operator()(IntVec acc) const {
    const LongVec even = hn::MulEven(acc, multiplier), odd = hn::MulEven(odd_to_even(acc), multiplier);
    const IntVec upper = odd_to_even(hn::BitCast(Ints(), even + half));
    return hn::ShiftRightSame(hn::OddEven(hn::BitCast(Ints(), odd + half), upper), shift) + zero_point;
  }

  IntVec multiplier, zero_point;
  LongVec half;
  int shift;
};

/// Like HalfUpLanes, with a multiplier and a shift for each lane.
struct HalfUpChannels {
  /// `beyond` has the shifts minus kUpperHalf.
  HalfUpChannels(IntVec multipliers, IntVec beyond, int32_t zero)
      : multiplier(multipliers), zero_point(hn::Set(Ints(), zero)), shift(beyond) {
    const IntVec last = shift + hn::Set(Ints(), kUpperHalf - 1);
    const LongVec one = hn::Set(Longs(), 1);
    half_even = one << hn::And(hn::BitCast(Longs(), last), hn::Set(Longs(), int64_t{UINT32_MAX}));
    half_odd = one << hn::BitCast(Longs(), odd_to_even(last));
  }

  HWY_INLINE IntVec operator()(IntVec acc) const {
    const LongVec even = hn::MulEven(acc, multiplier);
    const LongVec odd = hn::MulEven(odd_to_even(acc), odd_to_even(multiplier));
    const IntVec upper = odd_to_even(hn::BitCast(Ints(), even + half_even));
    return (hn::OddEven(hn::BitCast(Ints(), odd + half_odd), upper) >> shift) + zero_point;
  }

  IntVec multiplier, zero_point, shift;
  LongVec half_even, half_odd;
};

/// The multiplier of a requantizer that HalfUpLanes supports, or null for others.
inline const arith::Multiplier* half_up(const arith::Requantizer& requantizer) {
  const auto* fixed = std::get_if<arith::FixedScale>(&requantizer);
  if (fixed == nullptr || fixed->positive != fixed->negative || fixed->rounding != arith::ShiftRounding::half_up)
    return nullptr;
  return fixed->positive.shift >= kUpperHalf ? &fixed->positive : nullptr;
}

/// code_of of any other requantizer. Holds a copy, so that no store of a code can change it.
template <class Scale>
struct ScaleLanes {
  HWY_INLINE IntVec operator()(IntVec acc) const { return code_of(acc, scale, zero_point); }
  Scale scale;
  int32_t zero_point;
};

/// Calls body(lanes) with the fastest conversion of accumulators: lanes(acc) is code_of(acc, requantizer, zero_point).
template <class Body>
HWY_INLINE void with_lanes(const arith::Requantizer& requantizer, int32_t zero_point, Body&& body) {
  if (const arith::Multiplier* factor = half_up(requantizer)) return body(HalfUpLanes(*factor, zero_point));
  if (const auto* fixed = std::get_if<arith::FixedScale>(&requantizer))
    return body(ScaleLanes<arith::FixedScale>{*fixed, zero_point});
  body(ScaleLanes<arith::FloatScale>{*std::get_if<arith::FloatScale>(&requantizer), zero_point});
}

// Codes of a sum before the clamp, saturated to int32. Both vector levels have fused multiply-add.

/// A sum of two products is below 2^16 * 2^31 * 2 = 2^48 in magnitude. From this shift on its steps are below 2^30.
inline constexpr int kSmallSum = 18;

inline IntVec code_of(const arith::FixedSum& sum, IntVec a, IntVec b) {
  const Halves left = product(a - hn::Set(Ints(), sum.a_zero_point), sum.factors.a);
  const Halves right = product(b - hn::Set(Ints(), sum.b_zero_point), sum.factors.b);
  const Halves both = {left.even + right.even, left.odd + right.odd};
  const int shift = sum.factors.shift;
  if (shift < kSmallSum) return saturated(both, shift, sum.rounding, sum.y_zero_point);
  return joined(shift_right(both.even, shift, sum.rounding), shift_right(both.odd, shift, sum.rounding)) +
         hn::Set(Ints(), sum.y_zero_point);
}

/// arith::FloatSum::steps on vectors.
inline FloatVec steps_of(const arith::FloatSum& sum, IntVec a, IntVec b) {
  const Floats d;
  const FloatVec inner = hn::MulAdd(hn::ConvertTo(d, b), hn::Set(d, sum.b_ratio), hn::Set(d, sum.offset));
  return hn::MulAdd(hn::ConvertTo(d, a), hn::Set(d, sum.a_ratio), inner);
}

inline IntVec code_of(const arith::FloatSum& sum, IntVec a, IntVec b) { return whole_steps(steps_of(sum, a, b)); }

inline IntVec code_of(const arith::EngineSum& sum, IntVec a, IntVec b) {
  const Floats d;
  const FloatVec left = hn::MulAdd(hn::ConvertTo(d, a), hn::Set(d, sum.a_scale), hn::Set(d, sum.a_offset));
  const FloatVec right = hn::MulAdd(hn::ConvertTo(d, b), hn::Set(d, sum.b_scale), hn::Set(d, sum.b_offset));
  return whole_steps((left + right) * hn::Set(d, sum.inverse)) + hn::Set(Ints(), sum.zero_point);
}

}  // namespace halfstep::kernels::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
