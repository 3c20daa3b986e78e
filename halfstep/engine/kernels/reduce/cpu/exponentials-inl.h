// Exponentials of a line of f32, for softmax. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_REDUCE_CPU_EXPONENTIALS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_REDUCE_CPU_EXPONENTIALS_INL_H_
#undef HALFSTEP_KERNELS_REDUCE_CPU_EXPONENTIALS_INL_H_
#else
#define HALFSTEP_KERNELS_REDUCE_CPU_EXPONENTIALS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "halfstep/engine/kernels/common/simd/exponential-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::reduce::HWY_NAMESPACE {

/// dst = exp(src - largest of src). Returns the sum. dst may equal src. If src has a NaN, or only -infinity, the
/// results are NaN.
inline float exponentials(const float* src, float* dst, int64_t size) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = size / lanes * lanes;
  const auto some = hn::FirstN(d, static_cast<size_t>(size - whole));
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto last = hn::IfThenElse(some, hn::MaskedLoad(some, d, src + whole), least);
  auto most = last;
  for (int64_t i = 0; i < whole; i += lanes) most = hn::Max(most, hn::LoadU(d, src + i));
  const auto largest = hn::MaxOfLanes(d, most);
  const auto exp_of = [&](auto x) { return exponential::HWY_NAMESPACE::exp_of_negative(d, hn::Sub(x, largest)); };
  auto sums = hn::Zero(d);
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto one = exp_of(hn::LoadU(d, src + i));
    hn::StoreU(one, d, dst + i);
    sums = hn::Add(sums, one);
  }
  if (whole != size) {
    const auto one = hn::IfThenElseZero(some, exp_of(last));
    hn::BlendedStore(one, some, d, dst + whole);
    sums = hn::Add(sums, one);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

}  // namespace halfstep::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_REDUCE_CPU_EXPONENTIALS_INL_H_
