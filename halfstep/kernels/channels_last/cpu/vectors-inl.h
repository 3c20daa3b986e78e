// Vectors of channels that may end before the vector does, and bounds of activations. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
#undef HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
#else
#define HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
#endif

#include "halfstep/kernels/channels_last/cpu/conv.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::channels_last::HWY_NAMESPACE {
#if HS_SIMD_TARGET

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Float>;
constexpr int64_t kLanes = hn::MaxLanes(Float());

/// At most a vector of `elements`; memory behind them is neither read nor written.
HWY_INLINE FloatVector load(const float* from, int64_t elements) {
  const Float d;
  if (elements >= kLanes) return hn::LoadU(d, from);
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(elements)), d, from);
}
HWY_INLINE void store(FloatVector value, float* to, int64_t elements) {
  const Float d;
  if (elements >= kLanes) return hn::StoreU(value, d, to);
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(elements)), d, to);
}

/// A sum with what the layer adds to it, to `at` of the result. A NaN stays: x86's instructions for the larger and the
/// smaller of two give their second operand then.
HWY_INLINE void finish(const Finish& how, FloatVector sum, int64_t at, int64_t elements) {
  const Float d;
  if (how.residual != nullptr) sum = hn::Add(sum, load(how.residual + at, elements));
  sum = hn::Min(hn::Set(d, how.highest), hn::Max(hn::Set(d, how.lowest), sum));
  store(sum, how.out + at, elements);
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::channels_last::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
