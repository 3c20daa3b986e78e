// scale on vectors, beside the forms in float32. Included once for every target.
#if defined(HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_
#undef HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_
#else
#define HALFSTEP_KERNELS_INTEGER_REQUANTIZE_INL_H_
#endif

#include "halfstep/arith/requantizer.h"
#include "halfstep/kernels/float_requantize-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

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
using vectors::HWY_NAMESPACE::nearest;
using vectors::HWY_NAMESPACE::whole_steps;

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

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
