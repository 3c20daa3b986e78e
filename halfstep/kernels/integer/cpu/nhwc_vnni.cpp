// Codes with their channels last by AVX-512 VNNI: vpdpbusd adds four products of a pixel to the sums of 16 channels,
// without saturation in between.
#include <array>
#include <cstring>
#include <utility>

#include "halfstep/kernels/integer/cpu/engine.h"
#include "halfstep/kernels/integer/cpu/nhwc_driver.h"

namespace halfstep::kernels {
namespace integer {
namespace {

/// Pixels that 32 registers serve: two for each pixel, two for weights and one for codes.
constexpr int kMostPixels = 12;

template <int kPixels, int kVectors>
HS_LANES void compute(const NhwcTile& tile, const uint8_t* pixels, int32_t* dst) {
  __m512i acc[kPixels][kVectors];
  HS_UNROLL for (int p = 0; p < kPixels; ++p) {
    HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[p][v] = _mm512_load_si512(tile.bias[v].bias);
  }
  const int64_t words = tile.chunk / 4, step = tile.pixel_step;
  const auto* weights = reinterpret_cast<const int32_t*>(tile.weights);
  for (int64_t r = 0; r < tile.run_count; ++r) {
    const uint8_t* x = pixels + tile.runs[r];
    for (int64_t s = 0; s < tile.steps; ++s, weights += kVectors * words * kLanes) {
      for (int64_t k = 0; k < words; ++k, x += 4) {
        __m512i w[kVectors];
        HS_UNROLL for (int v = 0; v < kVectors; ++v) w[v] = _mm512_load_si512(weights + (v * words + k) * kLanes);
        HS_UNROLL for (int p = 0; p < kPixels; ++p) {
          int32_t four;
          std::memcpy(&four, x + p * step, 4);
          const __m512i codes = _mm512_set1_epi32(four);
          HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[p][v] = _mm512_dpbusd_epi32(acc[p][v], codes, w[v]);
        }
      }
    }
  }
  HS_UNROLL for (int p = 0; p < kPixels; ++p) {
    HS_UNROLL for (int v = 0; v < kVectors; ++v) _mm512_store_si512(dst + p * kBlockOutputs + v * kLanes, acc[p][v]);
  }
}

using Compute = void (*)(const NhwcTile&, const uint8_t*, int32_t*);

template <int kVectors, int... kBefore>
constexpr std::array<Compute, kMostPixels> tiles_of(std::integer_sequence<int, kBefore...>) {
  return {compute<kBefore + 1, kVectors>...};
}

template <int kVectors>
constexpr auto kTiles = tiles_of<kVectors>(std::make_integer_sequence<int, kMostPixels>());

void tile(const NhwcTile& tile) {
  const Compute compute = (tile.vectors == 2 ? kTiles<2> : kTiles<1>)[static_cast<size_t>(tile.pixels - 1)];
  for (int64_t i = 0; i < tile.tiles; ++i) compute(tile, tile.x[i], tile.acc + i * kTilePixels * kBlockOutputs);
}

constexpr NhwcEngine kEngine = {.tile_pixels = kMostPixels, .tile = tile};

Plan prepare_vnni(const Problem& problem) { return prepare_nhwc(problem, kEngine); }

}  // namespace
}  // namespace integer

extern const Kernel cpu_channels_last_integer_conv2d_vnni{"vnni", integer::accept_bytes, integer::prepare_vnni,
                                                          integer::run_nhwc};

}  // namespace halfstep::kernels
