// paddle/rule.h on vectors, the same operations in the same order. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
#undef HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
#else
#define HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
#endif

#include <algorithm>

#include "halfstep/kernels/paddle/rule.h"
#include "halfstep/kernels/quantize/cpu/code-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::paddle::HWY_NAMESPACE {
#if HS_SIMD_TARGET

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

HWY_INLINE V32 clip(V32 x, V32 low, V32 high) {
  return hn::IfThenElse(hn::Lt(x, low), low, hn::IfThenElse(hn::Gt(x, high), high, x));
}

/// A scale in each lane.
template <bool kHalfEven>
class Quantizer {
 public:
  Quantizer(V32 scale, float q) : scale_(scale), q_(hn::Set(F32(), q)) {
    const F32 d;
    const auto one = hn::Set(d, 1.0F);
    const auto padded = hn::Add(scale, hn::Set(d, 1e-6F));
    const auto small = hn::Le(scale, hn::Set(d, 1e-30F));
    multiplier_ = hn::Mul(q_, hn::Div(one, hn::IfThenElse(small, padded, scale)));
    low_ = kHalfEven ? hn::Sub(hn::Neg(q_), one) : hn::Neg(scale);
    high_ = kHalfEven ? q_ : scale;
  }

  HWY_INLINE V32 operator()(V32 x) const {
    using arith::Rounding;
    namespace rounding = quantize::HWY_NAMESPACE;
    const auto code = kHalfEven
                          ? clip(rounding::round_to<Rounding::half_even>(F32(), hn::Mul(multiplier_, x)), low_, high_)
                          : rounding::round_to<Rounding::half_away>(F32(), hn::Mul(multiplier_, clip(x, low_, high_)));
    return hn::Div(hn::Mul(code, scale_), q_);
  }

 private:
  V32 scale_, q_, multiplier_, low_, high_;
};

/// Largest magnitude that is not NaN; at least 0.
HWY_INLINE float largest_magnitude(const float* src, int64_t size) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(d);
  for (int64_t i = 0; i < size; i += lanes) {
    const auto x = hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(std::min(lanes, size - i))), d, src + i);
    largest = hn::Max(largest, hn::IfThenElseZero(hn::Eq(x, x), hn::Abs(x)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

template <bool kHalfEven>
HWY_INLINE void quantize_run(const Quantizer<kHalfEven>& quantizer, const float* src, float* dst, int64_t size) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(quantizer(hn::LoadU(d, src + i)), d, dst + i);
  if (i == size) return;
  const auto mask = hn::FirstN(d, static_cast<size_t>(size - i));
  hn::BlendedStore(quantizer(hn::MaskedLoad(mask, d, src + i)), mask, d, dst + i);
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::paddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
