// u8 codes by AVX-512 VNNI: vpdpbusd adds four products of a pixel to its accumulator, without saturation in between.
#include <immintrin.h>

#include "halfstep/kernels/integer/cpu/driver.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace integer {
namespace {

#define HS_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

constexpr int64_t kOutputs = 8;

/// kRows outputs times kVectors vectors of pixels, all in registers.
template <int kRows, int kVectors>
HS_VNNI void tile_at(const TileCall& call, int64_t pixel) {
  __m512i acc[kRows][kVectors];
  HS_UNROLL for (int o = 0; o < kRows; ++o) {
    HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[o][v] = _mm512_setzero_si512();
  }
  const std::byte* weights = call.weights;
  for (int64_t r = 0; r < call.rows; ++r, weights += kOutputs * 4) {
    const uint32_t* units = call.units + call.offsets[r] + pixel;
    __m512i codes[kVectors];
    HS_UNROLL for (int v = 0; v < kVectors; ++v) codes[v] = _mm512_loadu_si512(units + v * kPixelLanes);
    HS_UNROLL for (int o = 0; o < kRows; ++o) {
      int32_t weight;
      __builtin_memcpy(&weight, weights + o * 4, 4);
      const __m512i splat = _mm512_set1_epi32(weight);
      HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[o][v] = _mm512_dpbusd_epi32(acc[o][v], codes[v], splat);
    }
  }
  int32_t* dst = call.acc + pixel;
  HS_UNROLL for (int o = 0; o < kRows; ++o) {
    HS_UNROLL for (int v = 0; v < kVectors; ++v)
        _mm512_store_si512(dst + o * kBlockPixels + v * kPixelLanes, acc[o][v]);
  }
}

template <int kRows, int kVectors>
HS_VNNI void tile_rows(const TileCall& call) {
  int64_t pixel = 0;
  for (; pixel + kVectors * kPixelLanes <= call.pixels; pixel += kVectors * kPixelLanes)
    tile_at<kRows, kVectors>(call, pixel);
  for (; pixel < call.pixels; pixel += kPixelLanes) tile_at<kRows, 1>(call, pixel);
}

HS_VNNI void tile(const TileCall& call) {
  if (call.outputs == 1) return tile_rows<1, 4>(call);
  if (call.outputs <= 4) return tile_rows<4, 4>(call);
  tile_rows<kOutputs, 2>(call);
}

constexpr Engine kEngine = {.codes_per_unit = 4, .outputs = kOutputs, .tile = tile};

Verdict accept_vnni(const Problem& problem) {
  if (problem.level < CpuLevel::vnni) return refuse("{} has no VNNI", name(problem.level));
  if (problem.in[IntegerConv2d::in::x]->dtype != DType::u8)
    return refuse("VNNI multiplies u8 codes, x has {}", name(problem.in[IntegerConv2d::in::x]->dtype));
  if (is_signed(problem.out[0]->dtype))
    return refuse("its codes are unsigned, out has {}", name(problem.out[0]->dtype));
  return accept_filled(problem);
}

Plan prepare_vnni(const Problem& problem) { return prepare_layer(problem, kEngine); }

}  // namespace
}  // namespace integer

const Kernel cpu_integer_conv2d_vnni = {"vnni", integer::accept_vnni, integer::prepare_vnni, integer::run_layer};
const Kernel cpu_integer_linear_vnni = {"vnni", integer::accept_vnni, integer::prepare_vnni, integer::run_layer};

}  // namespace halfstep::kernels
