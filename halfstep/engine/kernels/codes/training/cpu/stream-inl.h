// Float values of codes, and stores of vectors that may bypass the caches. Included once for every target.
#if defined(HALFSTEP_KERNELS_QUANTIZED_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_QUANTIZED_STREAM_INL_H_
#undef HALFSTEP_KERNELS_QUANTIZED_STREAM_INL_H_
#else
#define HALFSTEP_KERNELS_QUANTIZED_STREAM_INL_H_
#endif

#include "halfstep/engine/kernels/codes/requantize-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using codes::HWY_NAMESPACE::code_of;
using codes::HWY_NAMESPACE::CodeLanes;
using codes::HWY_NAMESPACE::Floats;
using codes::HWY_NAMESPACE::FloatVec;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;
using codes::HWY_NAMESPACE::with_lanes;

/// Steps times scale in float32. Equals arith::real_of while code and zero point are below 2^24.
inline FloatVec real_of(IntVec codes, int32_t zero_point, float scale) {
  return hn::ConvertTo(Floats(), codes - hn::Set(Ints(), zero_point)) * hn::Set(Floats(), scale);
}

/// Whether vectors from here on can bypass the caches, if requested.
inline bool may_stream(bool past_caches, const void* to) {
  return past_caches && reinterpret_cast<uintptr_t>(to) % hn::MaxLanes(hn::ScalableTag<uint8_t>()) == 0;
}

template <class D>
void put(hn::Vec<D> v, D d, hn::TFromD<D>* to, bool stream) {
  if (stream) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
