// core/arith/code.h on vectors, with its operations in its order. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
#undef HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
#else
#define HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
#endif

#include <cstdlib>

#include "halfstep/core/arith/code.h"
#include "halfstep/engine/kernels/common/simd/arithmetic-inl.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using arithmetic::HWY_NAMESPACE::Divisor;

template <arith::Rounding kMode, class D, class V = hn::Vec<D>>
HWY_INLINE V round_to(D d, V v) {
  if constexpr (kMode == arith::Rounding::half_even) {
    return hn::Round(v);
  } else if constexpr (kMode == arith::Rounding::half_away) {
    return arithmetic::HWY_NAMESPACE::round_half_away(d, v);
  } else {
    const V whole = hn::Floor(v);
    const V next = hn::Add(whole, hn::Set(d, 1.0F));
    return hn::IfThenElse(hn::Ge(hn::Sub(v, whole), hn::Set(d, 0.5F)), next, whole);
  }
}

/// Codes of one channel. Every lane has the scale, zero point and rule.
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
  /// NaN becomes code_min.
  HWY_INLINE V clamped(V unclamped) const {
    const V raised = hn::IfThenElse(hn::Ge(unclamped, low_), unclamped, low_);
    return hn::IfThenElse(hn::Gt(raised, high_), high_, raised);
  }
  HWY_INLINE V real_of_code(V code) const { return hn::Mul(hn::Sub(code, zero_point_), scale_); }
  HWY_INLINE V real(V x) const { return real_of_code(clamped(unclamped(x))); }
  HWY_INLINE V low_bits(V x) const { return elements::HWY_NAMESPACE::as_low_bits(d_, clamped(unclamped(x))); }
  HWY_INLINE hn::Mask<D> inside(V x) const { return inside_of_unclamped(unclamped(x)); }
  HWY_INLINE hn::Mask<D> inside_of_unclamped(V unclamped) const {
    return hn::And(hn::Ge(unclamped, low_), hn::Le(unclamped, high_));
  }
  HWY_INLINE V zero_point() const { return zero_point_; }

 private:
  D d_;
  V scale_, divisor_, zero_point_, low_, high_;
};

/// Computes the codes of Coder, but counts steps from the zero point, which then cancels. Steps are clamped before they
/// are rounded. With a division, x itself is clamped to multiples of the scale, which is equivalent because each of
/// them divides into the exact number of steps.
template <class D, arith::Rounding kMode, bool kReciprocal>
class UniformCoder {
 public:
  using V = hn::Vec<D>;
  UniformCoder(D d, float scale, int32_t zero_point, const arith::CodeRule& rule)
      : d_(d),
        whole_(std::abs(int64_t{zero_point}) <= kWhole && rule.code_min >= -kWhole && rule.code_max <= kWhole),
        scale_(hn::Set(d, scale)),
        divisor_(d, scale_),
        inverse_(hn::Set(d, 1.0F / scale)),
        zero_point_(hn::Set(d, static_cast<float>(zero_point))),
        low_(hn::Sub(hn::Set(d, static_cast<float>(rule.code_min)), zero_point_)),
        high_(hn::Sub(hn::Set(d, static_cast<float>(rule.code_max)), zero_point_)) {}

  /// Whether the scale is neither tiny nor huge, and all counts are exact.
  HWY_INLINE bool holds() const { return whole_ && divisor_.holds(); }

  /// Zero steps become +0, like the difference of two equal codes.
  HWY_INLINE V real(V x) const { return hn::MulAdd(rounded(steps(x, low_, high_)), scale_, hn::Zero(d_)); }
  HWY_INLINE V low_bits(V x) const {
    const V clamped = steps(x, low_, high_);
    const V whole = kMode == arith::Rounding::half_even ? clamped : rounded(clamped);
    return hn::Add(elements::HWY_NAMESPACE::as_low_bits(d_, whole), zero_point_);
  }
  HWY_INLINE hn::Mask<D> inside(V x) const {
    const V one = hn::Set(d_, 1.0F);
    const V whole = rounded(steps(x, hn::Sub(low_, one), hn::Add(high_, one)));
    return hn::And(hn::Ge(whole, low_), hn::Le(whole, high_));
  }

 private:
  static constexpr int64_t kWhole = int64_t{1} << 20;

  HWY_INLINE V rounded(V steps) const { return round_to<kMode>(d_, steps); }
  /// NaN becomes `low`, because x86's maximum then returns its second operand.
  HWY_INLINE V steps(V x, V low, V high) const {
    if constexpr (kReciprocal) {
      return hn::Min(hn::Max(hn::Mul(x, inverse_), low), high);
    } else {
      return divisor_.quotient(hn::Min(hn::Max(x, hn::Mul(low, scale_)), hn::Mul(high, scale_)));
    }
  }

  D d_;
  bool whole_;
  V scale_;
  Divisor<D> divisor_;
  V inverse_, zero_point_, low_, high_;
};

/// Selects Work::run<mode, reciprocal> for a rule.
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

}  // namespace halfstep::kernels::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_QUANTIZE_CPU_CODE_INL_H_
