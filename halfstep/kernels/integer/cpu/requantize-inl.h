// scale_half_up and the forms in float32 on vectors. Included once for every target.
#if defined(HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_
#undef HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_
#else
#define HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_
#endif

#include "halfstep/arith/requantize.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {
#if HS_SIMD_TARGET

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<int32_t>;
using Longs = hn::Repartition<int64_t, Ints>;
using IntVec = hn::Vec<Ints>;
using LongVec = hn::Vec<Longs>;

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;

/// arith::whole_steps.
inline IntVec whole_steps(FloatVec steps) {
  const Floats d;
  const FloatVec most = hn::Set(d, arith::kMostSteps);
  return hn::NearestInt(hn::Max(hn::Min(steps, most), hn::Neg(most)));
}

/// arith::scale_float.
inline IntVec scale_float(IntVec acc, float factor) {
  return whole_steps(hn::ConvertTo(Floats(), acc) * hn::Set(Floats(), factor));
}

/// arith::EngineStep::code.
inline IntVec engine_code(IntVec acc, const arith::EngineStep& step, int32_t zero_point) {
  const Floats d;
  const FloatVec real = hn::ConvertTo(d, acc) * hn::Set(d, step.scale) * hn::Set(d, step.channel_scale);
  const FloatVec steps = (real + hn::Set(d, step.bias)) * hn::Set(d, step.factor);
  if (step.zero_inside) return whole_steps(steps + hn::Set(d, static_cast<float>(zero_point)));
  return whole_steps(steps) + hn::Set(Ints(), zero_point);
}

/// arith::EngineSum::code.
inline IntVec engine_sum(const arith::EngineSum& sum, IntVec a, IntVec b) {
  const Floats d;
  const FloatVec left = hn::MulAdd(hn::ConvertTo(d, a), hn::Set(d, sum.a_scale), hn::Set(d, sum.a_offset));
  const FloatVec right = hn::MulAdd(hn::ConvertTo(d, b), hn::Set(d, sum.b_scale), hn::Set(d, sum.b_offset));
  return whole_steps((left + right) * hn::Set(d, sum.inverse)) + hn::Set(Ints(), sum.zero_point);
}

/// The codes of arith::FloatSum before they are rounded. HS_SIMD_TARGETs have fused multiply-add.
inline FloatVec float_sum(const arith::FloatSum& sum, IntVec a, IntVec b) {
  const Floats d;
  const FloatVec inner = hn::MulAdd(hn::ConvertTo(d, b), hn::Set(d, sum.b_ratio), hn::Set(d, sum.offset));
  return hn::MulAdd(hn::ConvertTo(d, a), hn::Set(d, sum.a_ratio), inner);
}

/// Each int64 of `v` moved by 32 bits: what stands in odd int32 lanes comes to even ones.
inline IntVec odd_to_even(IntVec v) {
  const hn::Repartition<uint64_t, Ints> d;
  return hn::BitCast(Ints(), hn::ShiftRight<32>(hn::BitCast(d, v)));
}

/// Sums of products, the even lanes and the odd ones.
struct Products {
  LongVec even, odd;
};

inline Products multiply(IntVec a, IntVec b) {
  return {hn::MulEven(a, b), hn::MulEven(odd_to_even(a), odd_to_even(b))};
}

/// clamp((products + 2^(shift-1)) >> shift) for clamps inside int32.
inline IntVec shift_half_up(Products products, int shift, arith::Clamp clamp) {
  const Longs d;
  const LongVec half = hn::Set(d, int64_t{1} << (shift - 1));
  const LongVec low = hn::Set(d, int64_t{clamp.low});
  const LongVec high = hn::Set(d, int64_t{clamp.high});
  const auto step = [&](LongVec v) { return hn::Min(hn::Max(hn::ShiftRightSame(v + half, shift), low), high); };
  const IntVec even = hn::BitCast(Ints(), step(products.even));
  const IntVec odd = hn::BitCast(Ints(), hn::ShiftLeft<32>(step(products.odd)));
  return hn::OddEven(odd, even);
}

#endif
}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
