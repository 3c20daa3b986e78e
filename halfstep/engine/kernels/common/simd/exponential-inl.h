// exp on vectors of f32 in a known range. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_EXPONENTIAL_INL_H_
#undef HALFSTEP_KERNELS_EXPONENTIAL_INL_H_
#else
#define HALFSTEP_KERNELS_EXPONENTIAL_INL_H_
#endif

#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::exponential::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Polynomial with the highest power last. The number of coefficients is known at compile time, so that there is no
/// loop.
template <class D, class V>
HWY_INLINE V polynomial(D d, V, float coefficient) {
  return hn::Set(d, coefficient);
}
template <class D, class V, class... Higher>
HWY_INLINE V polynomial(D d, V x, float coefficient, Higher... higher) {
  return hn::MulAdd(polynomial(d, x, higher...), x, hn::Set(d, coefficient));
}

/// exp(x) with a relative error below 1.5e-7, for x from -87 to 88. There all powers of two are normal numbers. Other x
/// are not allowed. x is split into n * log(2) and a rest. A polynomial approximates exp(rest) with the least maximum
/// relative error (7.5e-8, by Lawson's weights on Chebyshev points). Adding 1.5 * 2^23 rounds to n and leaves it in the
/// lowest bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_in_range(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, 12582912.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const V n = hn::Sub(shifted, magic);
  const V near = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  const V rest = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), near);
  const auto power = hn::BitCast(di, polynomial(d, rest, 1.0000000716969544F, 0.9999996918061232F, 0.4999889441365333F,
                                                0.16667575095428966F, 0.041915431418315816F, 0.008297647670266788F));
  return hn::BitCast(d, hn::Add(power, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

/// exp(x) where it is subnormal, for x from -104 to -87, and 0 below. Computed as the square of exp(x / 2). Lanes below
/// -104 compute exp(0) instead, because products that underflow are slow on many processors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V subnormal_exp(D d, V x) {
  const auto above_zero = hn::Gt(x, hn::Set(d, -104.0F));
  const V root = exp_in_range(d, hn::Mul(hn::IfThenElseZero(above_zero, x), hn::Set(d, 0.5F)));
  return hn::IfThenElseZero(above_zero, hn::Mul(root, root));
}

/// exp(x) for any x up to 0, with subnormal results. NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_negative(D d, V x) {
  const V least = hn::Set(d, -87.0F);
  const V power = exp_in_range(d, hn::Max(x, least));
  const V result = hn::IfThenElse(hn::Ge(x, least), power, x);
  const auto small = hn::Lt(x, least);
  return hn::AllFalse(d, small) ? result : hn::IfThenElse(small, subnormal_exp(d, x), result);
}

}  // namespace halfstep::kernels::exponential::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_EXPONENTIAL_INL_H_
