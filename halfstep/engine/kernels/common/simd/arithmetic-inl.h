// Rounding and division on vectors, bit-identical to the plain forms. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_ARITHMETIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_ARITHMETIC_INL_H_
#undef HALFSTEP_KERNELS_ARITHMETIC_INL_H_
#else
#define HALFSTEP_KERNELS_ARITHMETIC_INL_H_
#endif

#include <cmath>

#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::arithmetic::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Rounds half away from zero. It adds the largest number below one half instead of one half, so that values just below
/// a tie stay below it. A tie still rounds up, because the sum is rounded.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_half_away(D d, V v) {
  using C = hn::TFromD<D>;
  const V below_half = hn::Set(d, std::nextafter(C(0.5), C(0)));
  return hn::Trunc(hn::Add(v, hn::CopySign(below_half, v)));
}

/// x / divisor, rounded once, without a division for each x. The rounded inverse of the divisor and its error lead to a
/// quotient within one unit in the last place. The residual is then exact, and one step with it rounds like the
/// division (P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990, theorem
/// 8.2). Valid for 2^-100 <= |x| <= 2^60. A zero may lose its sign.
template <class D>
class Divisor {
 public:
  using V = hn::Vec<D>;
  Divisor(D d, V divisor) : divisor_(divisor), inverse_(hn::Div(hn::Set(d, 1), divisor)) {
    rest_ = hn::Mul(hn::NegMulAdd(divisor, inverse_, hn::Set(d, 1)), inverse_);
  }

  /// Whether the divisor, which all lanes share, is in the range of the proof.
  HWY_INLINE bool holds() const {
    const auto divisor = hn::GetLane(divisor_);
    return divisor >= hn::TFromD<D>(0x1p-60) && divisor <= hn::TFromD<D>(0x1p60);
  }

  HWY_INLINE V quotient(V x) const {
    const V near = hn::MulAdd(x, inverse_, hn::Mul(x, rest_));
    return hn::MulAdd(hn::NegMulAdd(near, divisor_, x), inverse_, near);
  }

  /// The quotient of any x, with the sign of zero. A vector with an element that is neither 0 nor in the range is
  /// divided.
  HWY_INLINE V quotient_of_any(D d, V x) const {
    const V magnitude = hn::Abs(x);
    const auto far_from_0 = hn::Or(hn::Ge(magnitude, hn::Set(d, 0x1p-100)), hn::Eq(magnitude, hn::Zero(d)));
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(far_from_0, hn::Le(magnitude, hn::Set(d, 0x1p60))))))
      return hn::CopySign(quotient(x), x);
    return hn::Div(x, divisor_);
  }

 private:
  V divisor_, inverse_, rest_;
};

}  // namespace halfstep::kernels::arithmetic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_ARITHMETIC_INL_H_
