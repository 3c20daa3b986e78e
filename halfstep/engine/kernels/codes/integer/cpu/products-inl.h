// Products of codes and weights on vectors. Included once for every target.
#if defined(HALFSTEP_KERNELS_INTEGER_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_INTEGER_PRODUCTS_INL_H_
#undef HALFSTEP_KERNELS_INTEGER_PRODUCTS_INL_H_
#else
#define HALFSTEP_KERNELS_INTEGER_PRODUCTS_INL_H_
#endif

#include <type_traits>

#include "halfstep/engine/kernels/codes/integer/cpu/lane_codes-inl.h"
#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_layer.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

// add(acc, codes, weights) adds to every lane the products of a word of kCodes codes and a word of weights.

struct PairProduct {
  static constexpr int kCodes = 2;
  static HWY_INLINE IntVec add(IntVec acc, IntVec codes, IntVec weights) {
    IntVec rest = hn::Zero(Ints());  // stays zero on x86
    return hn::ReorderWidenMulAccumulate(Ints(), hn::BitCast(Shorts(), codes), hn::BitCast(Shorts(), weights), acc,
                                         rest);
  }
};

// Highway's target for AVX-512 has no VNNI, and the intrinsics need a function that is compiled for it.
#if HWY_TARGET == HWY_AVX3
struct VnniPairProduct {
  static constexpr int kCodes = 2;
  static HWY_INLINE IntVec add(IntVec acc, IntVec codes, IntVec weights) {
    asm("vpdpwssd %2, %1, %0" : "+v"(acc.raw) : "v"(codes.raw), "v"(weights.raw));
    return acc;
  }
};

/// Product of four one-byte codes.
struct VnniProduct {
  static constexpr int kCodes = 4;
  static HWY_INLINE IntVec add(IntVec acc, IntVec codes, IntVec weights) {
    asm("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(codes.raw), "v"(weights.raw));
    return acc;
  }
};
#endif

constexpr int64_t kShortLanes = hn::MaxLanes(Shorts());

/// Offset that is subtracted from codes as int16.
template <class Code>
constexpr int32_t kOffset = std::is_same_v<Code, uint16_t> ? kWideOffset : 0;

template <class Code>
HWY_INLINE hn::Vec<Shorts> load_shorts(const Code* bytes) {
  return hn::PromoteTo(Shorts(), hn::LoadU(hn::Rebind<Code, Shorts>(), bytes));
}
HWY_INLINE hn::Vec<Shorts> load_shorts(const int16_t* codes) { return hn::LoadU(Shorts(), codes); }
HWY_INLINE hn::Vec<Shorts> load_shorts(const uint16_t* codes) {
  return hn::BitCast(Shorts(), hn::Xor(hn::LoadU(Words(), codes), hn::Set(Words(), kWideOffset)));
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
