// arith/float_scale.h on vectors. Included once for every target.
#if defined(HALFSTEP_KERNELS_FLOAT_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_FLOAT_REQUANTIZE_INL_H_
#undef HALFSTEP_KERNELS_FLOAT_REQUANTIZE_INL_H_
#else
#define HALFSTEP_KERNELS_FLOAT_REQUANTIZE_INL_H_
#endif

#include "halfstep/arith/float_scale.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::vectors::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<int32_t>;
using IntVec = hn::Vec<Ints>;
using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;

/// The nearest whole numbers of what lies below 2^31; below int32 the least of it.
inline IntVec nearest(FloatVec steps) {
#if HWY_TARGET == HWY_AVX3
  return IntVec{_mm512_cvtps_epi32(steps.raw)};
#else
  return IntVec{_mm256_cvtps_epi32(steps.raw)};
#endif
}

/// arith::whole_steps.
inline IntVec whole_steps(FloatVec steps) {
  const FloatVec most = hn::Set(Floats(), arith::kMostSteps);
  return nearest(hn::Max(hn::Min(steps, most), hn::Neg(most)));
}

/// arith::FloatScale::code.
inline IntVec float_code(IntVec acc, const arith::FloatScale& scale, int32_t zero_point) {
  const Floats d;
  const FloatVec real = hn::ConvertTo(d, acc) * hn::Set(d, scale.scale) * hn::Set(d, scale.channel_scale);
  const FloatVec steps = (real + hn::Set(d, scale.bias)) * hn::Set(d, scale.factor);
  if (scale.zero_inside) return whole_steps(steps + hn::Set(d, static_cast<float>(zero_point)));
  return whole_steps(steps) + hn::Set(Ints(), zero_point);
}

/// arith::EngineSum::code. Both vector levels have fused multiply-add.
inline IntVec engine_sum(const arith::EngineSum& sum, IntVec a, IntVec b) {
  const Floats d;
  const FloatVec left = hn::MulAdd(hn::ConvertTo(d, a), hn::Set(d, sum.a_scale), hn::Set(d, sum.a_offset));
  const FloatVec right = hn::MulAdd(hn::ConvertTo(d, b), hn::Set(d, sum.b_scale), hn::Set(d, sum.b_offset));
  return whole_steps((left + right) * hn::Set(d, sum.inverse)) + hn::Set(Ints(), sum.zero_point);
}

/// arith::FloatSum::steps.
inline FloatVec float_sum(const arith::FloatSum& sum, IntVec a, IntVec b) {
  const Floats d;
  const FloatVec inner = hn::MulAdd(hn::ConvertTo(d, b), hn::Set(d, sum.b_ratio), hn::Set(d, sum.offset));
  return hn::MulAdd(hn::ConvertTo(d, a), hn::Set(d, sum.a_ratio), inner);
}

}  // namespace halfstep::kernels::vectors::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
