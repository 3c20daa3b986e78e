// arith::scale in 64-bit lanes, as it is written, beside the forms in float32. Included once for every target.
#if defined(HALFSTEP_KERNELS_QUANTIZED_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_QUANTIZED_REQUANTIZE_INL_H_
#undef HALFSTEP_KERNELS_QUANTIZED_REQUANTIZE_INL_H_
#else
#define HALFSTEP_KERNELS_QUANTIZED_REQUANTIZE_INL_H_
#endif

#include <limits>

#include "halfstep/arith/requantizer.h"
#include "halfstep/kernels/float_requantize-inl.h"
#include "halfstep/kernels/quantized/cpu/rows.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::quantized::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using vectors::HWY_NAMESPACE::Floats;
using vectors::HWY_NAMESPACE::FloatVec;
using vectors::HWY_NAMESPACE::Ints;
using vectors::HWY_NAMESPACE::IntVec;
using Longs = hn::Repartition<int64_t, Ints>;
using LongVec = hn::Vec<Longs>;

using vectors::HWY_NAMESPACE::engine_sum;
using vectors::HWY_NAMESPACE::float_code;
using vectors::HWY_NAMESPACE::float_sum;
using vectors::HWY_NAMESPACE::whole_steps;

/// Whether vectors can be stored past the caches from here on, if they should.
inline bool may_stream(bool past_caches, const void* to) {
  return past_caches && reinterpret_cast<uintptr_t>(to) % hn::MaxLanes(hn::ScalableTag<uint8_t>()) == 0;
}

template <class D>
void put(hn::Vec<D> v, D d, hn::TFromD<D>* to, bool stream) {
  if (stream) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

/// int32 lanes as int64: those with even index, and those with odd index.
struct Halves {
  LongVec even, odd;
};

inline IntVec odd_to_even(IntVec v) {
  return hn::BitCast(Ints(), hn::ShiftRight<32>(hn::BitCast(hn::Repartition<uint64_t, Ints>(), v)));
}

inline Halves product(IntVec a, int32_t m) {
  const IntVec factor = hn::Set(Ints(), m);
  return {hn::MulEven(a, factor), hn::MulEven(odd_to_even(a), factor)};
}

/// Both halves' low 32 bits.
inline IntVec joined(LongVec even, LongVec odd) {
  return hn::OddEven(hn::BitCast(Ints(), hn::ShiftLeft<32>(odd)), hn::BitCast(Ints(), even));
}

/// arith::shift_right for numbers below 2^62 in magnitude.
inline LongVec shift_right(LongVec v, int shift, arith::ShiftRounding rounding) {
  using arith::ShiftRounding;
  const Longs d;
  const LongVec half = hn::Set(d, int64_t{1} << (shift - 1)), one = hn::Set(d, 1);
  if (rounding == ShiftRounding::half_up) return hn::ShiftRightSame(v + half, shift);
  if (rounding == ShiftRounding::truncate) return hn::ShiftRightSame(v, shift);
  if (rounding == ShiftRounding::half_even)
    return hn::ShiftRightSame(v + half - one + hn::And(hn::ShiftRightSame(v, shift), one), shift);
  if (rounding == ShiftRounding::half_away) return hn::ShiftRightSame(v + half + hn::BroadcastSignBit(v), shift);
  constexpr int kFirst = arith::kDoubledShift;
  if (shift <= kFirst) return shift_right(v, shift, ShiftRounding::half_up);
  return shift_right(shift_right(v, kFirst, ShiftRounding::half_up), shift - kFirst, ShiftRounding::half_away);
}

/// shift_right and the zero point, saturated to int32.
inline IntVec round_shift(Halves v, int shift, arith::ShiftRounding rounding, int32_t zero_point) {
  using Limits = std::numeric_limits<int32_t>;
  const Longs d;
  const LongVec offset = hn::Set(d, int64_t{zero_point});
  const LongVec low = hn::Set(d, int64_t{Limits::min()});
  const LongVec high = hn::Set(d, int64_t{Limits::max()});
  const auto rounded = [&](LongVec x) { return hn::Min(hn::Max(shift_right(x, shift, rounding) + offset, low), high); };
  return joined(rounded(v.even), rounded(v.odd));
}

inline IntVec scaled(IntVec acc, arith::Multiplier factor, arith::ShiftRounding rounding, int32_t zero_point) {
  const Halves v = product(acc, factor.m);
  const bool is_small = int64_t{factor.m} <= int64_t{1} << (factor.shift - 1);  // at most half an accumulator
  if (!is_small) return round_shift(v, factor.shift, rounding, zero_point);
  return joined(shift_right(v.even, factor.shift, rounding), shift_right(v.odd, factor.shift, rounding)) +
         hn::Set(Ints(), zero_point);
}

/// The code before the clamp, saturated to int32.
inline IntVec unclamped_code(IntVec acc, const arith::Requantizer& requantizer, int32_t zero_point) {
  if (const auto* scale = std::get_if<arith::FloatScale>(&requantizer)) return float_code(acc, *scale, zero_point);
  const auto& [positive, negative, rounding] = *std::get_if<arith::FixedScale>(&requantizer);
  const IntVec code = scaled(acc, positive, rounding, zero_point);
  if (positive == negative) return code;
  return hn::IfThenElse(hn::Lt(acc, hn::Zero(Ints())), scaled(acc, negative, rounding, zero_point), code);
}

}  // namespace halfstep::kernels::quantized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
