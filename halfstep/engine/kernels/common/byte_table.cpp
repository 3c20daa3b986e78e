#define HS_LEVEL_SOURCE "halfstep/engine/kernels/common/byte_table.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <algorithm>
#include <array>

#include <immintrin.h>

#include "halfstep/engine/kernels/common/byte_table.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::byte_table::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

constexpr size_t kParts = 16, kPart = 16;

/// Looks up each byte in 16 parts of the table. Only the part that the byte's upper half selects has its entry. In the
/// other parts the index is 128 or more, which yields 0.
struct Find {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, kParts>& parts, V x) const {
    V found = hn::Zero(d);
    for (size_t k = 0; k < kParts; ++k) {
      const V place =
          hn::SaturatedAdd(hn::Xor(x, hn::Set(d, static_cast<uint8_t>(k * kPart))), hn::Set(d, 128 - kPart));
      found = hn::Or(found, hn::TableLookupBytesOr0(parts[k], place));
    }
    return found;
  }
};

void look_up(const uint8_t* table, const uint8_t* src, uint8_t* dst, int64_t size, bool past_caches) {
  using D = hn::ScalableTag<uint8_t>;
  simd::UniformRow<D, uint8_t, kParts, Find, uint8_t> row{Find(), {}, {src}};
  for (size_t k = 0; k < kParts; ++k) row.parameters[k] = hn::LoadDup128(D(), table + k * kPart);
  simd::write_row(D(), dst, size, past_caches, row);
  if (past_caches) hwy::FlushStream();
}

}  // namespace halfstep::kernels::byte_table::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace byte_table {
namespace {

#define HS_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

/// Two permutations of 128 bytes each. The upper bit of a byte selects one of them.
struct Quarters {
  __m512i quarter[4];
  HS_VBMI __m512i find(__m512i x) const {
    const __m512i low = _mm512_permutex2var_epi8(quarter[0], x, quarter[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarter[2], x, quarter[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
  }
};

HS_VBMI void look_up_vbmi(const uint8_t* table, const uint8_t* src, uint8_t* dst, int64_t size, bool past_caches) {
  constexpr int64_t kVector = 64, kAhead = 2048;
  Quarters table_of;
  for (int i = 0; i < 4; ++i) table_of.quarter[i] = _mm512_loadu_si512(table + i * kVector);
  const bool streams = past_caches && reinterpret_cast<uintptr_t>(dst) % kVector == 0;
  int64_t i = 0;
  for (; i + kVector <= size; i += kVector) {
    _mm_prefetch(reinterpret_cast<const char*>(src + i) + kAhead, _MM_HINT_T0);
    const __m512i y = table_of.find(_mm512_loadu_si512(src + i));
    if (streams) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), y);
    } else {
      _mm512_storeu_si512(dst + i, y);
    }
  }
  if (i < size) {
    const __mmask64 rest = ~uint64_t{0} >> (kVector - (size - i));
    _mm512_mask_storeu_epi8(dst + i, rest, table_of.find(_mm512_maskz_loadu_epi8(rest, src + i)));
  }
  if (streams) _mm_sfence();
}

bool has_vbmi() {
  static const bool kHas = __builtin_cpu_supports("avx512vbmi") != 0;
  return kHas;
}

}  // namespace
}  // namespace byte_table

LookUpBytes look_up_bytes(CpuLevel level) {
  if (level >= CpuLevel::vnni && byte_table::has_vbmi()) return &byte_table::look_up_vbmi;
  using namespace byte_table;
  return HS_SIMD_CHOOSE(level, look_up);
}

}  // namespace halfstep::kernels
#endif
