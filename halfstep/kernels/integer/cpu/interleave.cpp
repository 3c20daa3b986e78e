#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/integer/cpu/interleave.cpp"
#include "halfstep/kernels/integer/cpu/interleave.h"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of 16 bytes: planes of small images are not longer.
template <class T>
using Short = hn::CappedTag<T, 16 / sizeof(T)>;

void interleave_4_codes(const void* const* planes, int64_t count, uint32_t* units) {
  const Short<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const uint8_t* src[4];
  for (int k = 0; k < 4; ++k) src[k] = static_cast<const uint8_t*>(planes[k]);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreInterleaved4(hn::LoadU(d, src[0] + i), hn::LoadU(d, src[1] + i), hn::LoadU(d, src[2] + i),
                          hn::LoadU(d, src[3] + i), d, reinterpret_cast<uint8_t*>(units + i));
  }
  for (; i < count; ++i)
    units[i] = uint32_t{src[0][i]} | uint32_t{src[1][i]} << 8 | uint32_t{src[2][i]} << 16 | uint32_t{src[3][i]} << 24;
}

hn::Vec<Short<uint16_t>> load_16(Short<uint16_t> d, const uint8_t* src) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<uint8_t, Short<uint16_t>>(), src));
}
hn::Vec<Short<uint16_t>> load_16(Short<uint16_t> d, const uint16_t* src) {
  return hn::Xor(hn::LoadU(d, src), hn::Set(d, 0x8000));
}
uint32_t load_one(const uint8_t* src) { return *src; }
uint32_t load_one(const uint16_t* src) { return *src ^ 0x8000U; }

template <class Code>
void interleave_2_codes(const void* const* planes, int64_t count, uint32_t* units) {
  const Short<uint16_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* first = static_cast<const Code*>(planes[0]);
  const auto* second = static_cast<const Code*>(planes[1]);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreInterleaved2(load_16(d, first + i), load_16(d, second + i), d, reinterpret_cast<uint16_t*>(units + i));
  for (; i < count; ++i) units[i] = load_one(first + i) | load_one(second + i) << 16;
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::integer {

Interleave choose_interleave(CpuLevel level, const Engine& engine, const Layer& layer) {
  if (engine.codes_per_unit == 4) return HS_SIMD_CHOOSE(level, interleave_4_codes);
  if (layer.wide_in) return HS_SIMD_CHOOSE(level, interleave_2_codes<uint16_t>);
  return HS_SIMD_CHOOSE(level, interleave_2_codes<uint8_t>);
}

}  // namespace halfstep::kernels::integer
#endif
