// Vectors of channels, whole or partial, and bounds of activations. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
#undef HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
#else
#define HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
#endif

#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/conv.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::channels_last::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Float>;
constexpr int64_t kLanes = hn::MaxLanes(Float());

/// Used lanes of a vector: all lanes, or the first `count`. Memory after them is neither read nor written.
struct Whole {};
struct Part {
  int64_t count;
};
HWY_INLINE FloatVector load(const float* from, Whole) { return hn::LoadU(Float(), from); }
HWY_INLINE FloatVector load(const float* from, Part part) {
  return hn::MaskedLoad(hn::FirstN(Float(), static_cast<size_t>(part.count)), Float(), from);
}
HWY_INLINE void store(FloatVector value, float* to, Whole) { hn::StoreU(value, Float(), to); }
HWY_INLINE void store(FloatVector value, float* to, Part part) {
  hn::BlendedStore(value, hn::FirstN(Float(), static_cast<size_t>(part.count)), Float(), to);
}
/// Calls body(Whole or Part) for a vector of up to `elements`.
template <class Body>
HWY_INLINE void with_extent(int64_t elements, Body&& body) {
  elements >= kLanes ? body(Whole()) : body(Part{elements});
}

/// Finish in registers. The compiler must assume that stores to `out` change a Finish in memory.
struct Bounds {
  explicit Bounds(const Finish& how)
      : residual(how.residual),
        out(how.out),
        lowest(hn::Set(Float(), how.lowest)),
        highest(hn::Set(Float(), how.highest)) {}
  const float* residual;
  float* out;
  FloatVector lowest, highest;
};

/// Adds the layer's other terms to a sum, clamps it and stores it at `at` of the result. NaN stays NaN, because x86's
/// maximum and minimum then return their second operand.
template <class Extent>
HWY_INLINE void finish(const Bounds& how, FloatVector sum, int64_t at, Extent extent) {
  if (how.residual != nullptr) sum = hn::Add(sum, load(how.residual + at, extent));
  store(hn::Min(how.highest, hn::Max(how.lowest, sum)), how.out + at, extent);
}

}  // namespace halfstep::kernels::channels_last::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_CHANNELS_LAST_CPU_VECTORS_INL_H_
