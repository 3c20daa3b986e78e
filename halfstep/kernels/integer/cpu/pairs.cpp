// Codes and weights as int16: one multiplication adds two products of a pixel. Exact on every level, and for u16 codes
// too.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/integer/cpu/pairs.cpp"
#include "halfstep/kernels/integer/cpu/driver.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Outputs of a block: AVX2 has 16 registers, of which 8 accumulate.
constexpr int kPairOutputs = 4;

/// acc + a[2i] * b[2i] + a[2i + 1] * b[2i + 1]. Two products reach 2 * 2^15 * 2^7 = 2^23 in magnitude.
template <class V16, class V32>
V32 add_pairs(V32 acc, V16 a, V16 b) {
  V32 rest = hn::Zero(hn::DFromV<V32>());  // stays zero on x86
  return hn::ReorderWidenMulAccumulate(hn::DFromV<V32>(), a, b, acc, rest);
}

/// kRows outputs times kVectors vectors of pixels, all in registers.
template <int kRows, int kVectors>
void tile_at(const TileCall& call, int64_t pixel) {
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> acc[kRows][kVectors];
  HS_UNROLL for (int o = 0; o < kRows; ++o) { HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[o][v] = hn::Zero(d); }
  const auto* weights = reinterpret_cast<const int32_t*>(call.weights);
  for (int64_t r = 0; r < call.rows; ++r, weights += kPairOutputs) {
    const auto* units = reinterpret_cast<const int16_t*>(call.units + call.offsets[r] + pixel);
    hn::Vec<decltype(d16)> codes[kVectors];
    HS_UNROLL for (int v = 0; v < kVectors; ++v) codes[v] = hn::LoadU(d16, units + v * 2 * lanes);
    HS_UNROLL for (int o = 0; o < kRows; ++o) {
      const auto pair = hn::BitCast(d16, hn::Set(d, weights[o]));
      HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[o][v] = add_pairs(acc[o][v], codes[v], pair);
    }
  }
  int32_t* dst = call.acc + pixel;
  HS_UNROLL for (int o = 0; o < kRows; ++o) {
    HS_UNROLL for (int v = 0; v < kVectors; ++v) hn::Store(acc[o][v], d, dst + o * kBlockPixels + v * lanes);
  }
}

template <int kRows, int kVectors>
void tile_rows(const TileCall& call) {
  const int64_t step = kVectors * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<int32_t>()));
  int64_t pixel = 0;
  for (; pixel + step <= call.pixels; pixel += step) tile_at<kRows, kVectors>(call, pixel);
  for (; pixel < call.pixels; pixel += step / kVectors) tile_at<kRows, 1>(call, pixel);
}

void pairs_tile(const TileCall& call) {
  constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
  call.outputs == 1 ? tile_rows<1, 4>(call) : tile_rows<kPairOutputs, kVectors>(call);
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

Verdict accept_pairs(const Problem& problem) {
  for (const Type* type : {problem.in[IntegerConv2d::in::x], problem.out[0]}) {
    if (is_signed(type->dtype)) return refuse("its codes are unsigned, found {}", name(type->dtype));
  }
  const Verdict verdict = accept_simd(problem);
  return verdict ? accept_filled(problem) : verdict;
}

Plan prepare_pairs(const Problem& problem) {
  const Engine engine = {.codes_per_unit = 2, .outputs = 4, .tile = HS_SIMD_CHOOSE(problem.level, pairs_tile)};
  return prepare_layer(problem, engine);
}

}  // namespace
}  // namespace integer

const Kernel cpu_integer_conv2d_pairs = {"pairs", integer::accept_pairs, integer::prepare_pairs, integer::run_layer};
const Kernel cpu_integer_linear_pairs = {"pairs", integer::accept_pairs, integer::prepare_pairs, integer::run_layer};

}  // namespace halfstep::kernels
#endif
