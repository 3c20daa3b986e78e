// blocks.h on vectors. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_QUANTIZE_CPU_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_QUANTIZE_CPU_SUMS_INL_H_
#undef HALFSTEP_KERNELS_QUANTIZE_CPU_SUMS_INL_H_
#else
#define HALFSTEP_KERNELS_QUANTIZE_CPU_SUMS_INL_H_
#endif

#include <algorithm>

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using Narrow = hn::Rebind<float, F64>;  // one float32 for each double of a vector
constexpr int64_t kLanes = hn::MaxLanes(F64());
constexpr int64_t kParts = kSumLanes / kLanes;
static_assert(kParts * kLanes == kSumLanes);

/// Adds the terms of elements [0, size) to kSumLanes lanes. term.full(i) has the terms of i to i + kLanes. term.part(i,
/// count) has the last ones.
template <class Term>
HWY_INLINE void add_to_lanes(double* lanes, int64_t size, const Term& term) {
  const F64 d;
  hn::Vec<F64> sums[kParts];
  for (int64_t k = 0; k < kParts; ++k) sums[k] = hn::LoadU(d, lanes + k * kLanes);
  int64_t i = 0;
  for (; i + kSumLanes <= size; i += kSumLanes) {
    for (int64_t k = 0; k < kParts; ++k) sums[k] = hn::Add(sums[k], term.full(i + k * kLanes));
  }
  for (int64_t k = 0; k < kParts; ++k) hn::StoreU(sums[k], d, lanes + k * kLanes);
  for (; i < size; i += kLanes, lanes += kLanes) {
    const auto count = static_cast<size_t>(std::min(kLanes, size - i));
    const auto last = hn::IfThenElseZero(hn::FirstN(d, count), term.part(i, count));
    hn::StoreU(hn::Add(hn::LoadU(d, lanes), last), d, lanes);
  }
}

HWY_INLINE hn::Vec<Narrow> load_part(const float* from, size_t count) {
  return hn::MaskedLoad(hn::FirstN(Narrow(), count), Narrow(), from);
}

}  // namespace halfstep::kernels::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_QUANTIZE_CPU_SUMS_INL_H_
