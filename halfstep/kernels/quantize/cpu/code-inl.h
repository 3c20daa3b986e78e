// arith/code.h on vectors, the same operations in the same order. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
#undef HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
#else
#define HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
#endif

#include "halfstep/arith/code.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::quantize::HWY_NAMESPACE {
#if HS_SIMD_TARGET

namespace hn = hwy::HWY_NAMESPACE;

template <arith::Rounding kMode, class D, class V = hn::Vec<D>>
HWY_INLINE V round_to(D d, V v) {
  if constexpr (kMode == arith::Rounding::half_even) {
    return hn::Round(v);
  } else if constexpr (kMode == arith::Rounding::half_away) {
    const V whole = hn::Trunc(v);
    const V next = hn::Add(whole, hn::CopySign(hn::Set(d, 1.0F), v));
    return hn::IfThenElse(hn::Ge(hn::Abs(hn::Sub(v, whole)), hn::Set(d, 0.5F)), next, whole);
  } else {
    const V whole = hn::Floor(v);
    const V next = hn::Add(whole, hn::Set(d, 1.0F));
    return hn::IfThenElse(hn::Ge(hn::Sub(v, whole), hn::Set(d, 0.5F)), next, whole);
  }
}

/// Codes of one channel: scale, zero point and rule in every lane.
template <class D, arith::Rounding kMode, bool kReciprocal>
class Coder {
 public:
  using V = hn::Vec<D>;
  Coder(D d, float scale, int32_t zero_point, int32_t code_min, int32_t code_max)
      : d_(d),
        scale_(hn::Set(d, scale)),
        divisor_(kReciprocal ? hn::Set(d, 1.0F / scale) : scale_),
        zero_point_(hn::Set(d, static_cast<float>(zero_point))),
        low_(hn::Set(d, static_cast<float>(code_min))),
        high_(hn::Set(d, static_cast<float>(code_max))) {}

  HWY_INLINE V steps(V x) const { return kReciprocal ? hn::Mul(x, divisor_) : hn::Div(x, divisor_); }
  HWY_INLINE V unclamped_of_steps(V steps) const { return hn::Add(round_to<kMode>(d_, steps), zero_point_); }
  HWY_INLINE V unclamped(V x) const { return unclamped_of_steps(steps(x)); }
  /// NaN gives code_min.
  HWY_INLINE V clamped(V unclamped) const {
    const V raised = hn::IfThenElse(hn::Ge(unclamped, low_), unclamped, low_);
    return hn::IfThenElse(hn::Gt(raised, high_), high_, raised);
  }
  HWY_INLINE V real(V code) const { return hn::Mul(hn::Sub(code, zero_point_), scale_); }
  HWY_INLINE hn::Mask<D> inside(V unclamped) const {
    return hn::And(hn::Ge(unclamped, low_), hn::Le(unclamped, high_));
  }
  HWY_INLINE V zero_point() const { return zero_point_; }

 private:
  D d_;
  V scale_, divisor_, zero_point_, low_, high_;
};

/// Work::run<mode, reciprocal> of a rule.
template <class Work>
auto choose_by_rule(const arith::CodeRule& rule) {
  using arith::Rounding;
  switch (rule.rounding) {
    case Rounding::half_away:
      return rule.reciprocal ? &Work::template run<Rounding::half_away, true>
                             : &Work::template run<Rounding::half_away, false>;
    case Rounding::half_up:
      return rule.reciprocal ? &Work::template run<Rounding::half_up, true>
                             : &Work::template run<Rounding::half_up, false>;
    case Rounding::half_even: break;
  }
  return rule.reciprocal ? &Work::template run<Rounding::half_even, true>
                         : &Work::template run<Rounding::half_even, false>;
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::quantize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
