// Layers of codes in tiles of pixels by channels. A word of a pixel's codes is multiplied with a word of weights of
// each channel. Words hold four one-byte codes if the processor has VNNI, otherwise two codes as int16. Both are exact:
// two int16 products are at most 2 * 2^15 * 2^7 = 2^23 in magnitude.
#include <array>
#include <cstring>
#include <utility>

#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_driver.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/nhwc_tiles.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/integer/cpu/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

/// Vectors of sums for 16 channels.
constexpr int kParts = kLanes / kIntLanes;
/// Most pixels of a tile, for 32 or 16 registers. Each pixel needs two registers, weights need two, and codes one.
constexpr int kMostPixels = kParts == 1 ? 12 : 6;

/// Computes kVectors times 16 channels.
template <class Product, int kPixels, int kVectors>
void compute(const NhwcTile& tile, int64_t vector, const std::byte* pixels, int32_t* dst) {
  constexpr int kSums = kVectors * kParts;
  const Ints d;
  IntVec acc[kPixels][kSums];
  HS_UNROLL for (int v = 0; v < kSums; ++v) {
    const IntVec bias = hn::Load(d, tile.bias + (vector + v / kParts) * tile.bias_step + v % kParts * kIntLanes);
    HS_UNROLL for (int p = 0; p < kPixels; ++p) acc[p][v] = bias;
  }
  const int64_t words = tile.chunk / 4, step = tile.pixel_step, vectors = tile.vectors;
  const auto* weights = reinterpret_cast<const int32_t*>(tile.weights) + vector * words * kLanes;
  for (int64_t r = 0; r < tile.run_count; ++r) {
    const std::byte* x = pixels + tile.runs[r];
    for (int64_t s = 0; s < tile.steps; ++s, weights += vectors * words * kLanes) {
      for (int64_t k = 0; k < words; ++k, x += 4) {
        IntVec w[kSums];
        HS_UNROLL for (int v = 0; v < kSums; ++v) w[v] =
            hn::Load(d, weights + (v / kParts * words + k) * kLanes + v % kParts * kIntLanes);
        HS_UNROLL for (int p = 0; p < kPixels; ++p) {
          int32_t word;
          std::memcpy(&word, x + p * step, 4);
          const IntVec codes = hn::Set(d, word);
          HS_UNROLL for (int v = 0; v < kSums; ++v) acc[p][v] = Product::add(acc[p][v], codes, w[v]);
        }
      }
    }
  }
  dst += vector * kLanes;
  HS_UNROLL for (int p = 0; p < kPixels; ++p) {
    HS_UNROLL for (int v = 0; v < kSums; ++v) hn::Store(acc[p][v], d, dst + p * kBlockOutputs + v * kIntLanes);
  }
}

using Compute = void (*)(const NhwcTile&, int64_t vector, const std::byte*, int32_t*);

template <class Product, int kVectors, int... kBefore>
constexpr std::array<Compute, kMostPixels> tiles_of(std::integer_sequence<int, kBefore...>) {
  return {compute<Product, kBefore + 1, kVectors>...};
}

template <class Product, int kVectors>
constexpr auto kTiles = tiles_of<Product, kVectors>(std::make_integer_sequence<int, kMostPixels>());

template <class Product>
void tile(const NhwcTile& tile) {
  const auto number = static_cast<size_t>(tile.pixels - 1);
  for (int64_t i = 0; i < tile.tiles; ++i) {
    int32_t* dst = tile.acc + i * kTilePixels * kBlockOutputs;
    if constexpr (kParts == 1) {
      if (tile.vectors == 2) {
        kTiles<Product, 2>[number](tile, 0, tile.x[i], dst);
        continue;
      }
    }
    for (int64_t v = 0; v < tile.vectors; ++v) kTiles<Product, 1>[number](tile, v, tile.x[i], dst);
  }
}

/// Converts codes to int16.
template <class Code>
void widen(const void* codes, int64_t count, void* to) {
  const auto* from = static_cast<const Code*>(codes);
  auto* wide = static_cast<int16_t*>(to);
  int64_t i = 0;
  for (; i + kShortLanes <= count; i += kShortLanes) hn::StoreU(load_shorts(from + i), Shorts(), wide + i);
  for (; i < count; ++i) wide[i] = static_cast<int16_t>(from[i] - kOffset<Code>);
}

NhwcEngine engine_of([[maybe_unused]] CpuLevel level, [[maybe_unused]] bool are_bytes) {
#if HWY_TARGET == HWY_AVX3
  if (level >= CpuLevel::vnni)
    return {.tile_pixels = kMostPixels, .tile = are_bytes ? &tile<VnniProduct> : &tile<VnniPairProduct>};
#endif
  return {.tile_pixels = kMostPixels, .tile = tile<PairProduct>};
}

void (*widen_from(DType type))(const void*, int64_t, void*) {
  return with_codes(type, []<class Code>() { return &widen<Code>; });
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {

NhwcEngine word_engine(CpuLevel level, bool are_bytes) { return HS_SIMD_CHOOSE(level, engine_of)(level, are_bytes); }

namespace {

Verdict accept_tiles(const Problem& problem) {
  const Verdict verdict = accept_simd(problem);
  return verdict ? accept_layer(problem) : verdict;
}

Plan prepare_tiles(const Problem& problem) {
  const NhwcLayer layer(problem);
  const bool are_bytes = has_byte_words(problem.level) && layer.are_bytes();
  NhwcEngine engine = word_engine(problem.level, are_bytes);
  if (!are_bytes) engine.widen = HS_SIMD_CHOOSE(problem.level, widen_from)(layer.x_type);
  return prepare_nhwc(problem, engine);
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_conv2d_tiles{"tiles", integer::accept_tiles, integer::prepare_tiles, integer::run_nhwc};
extern const Kernel cpu_integer_linear_tiles{"tiles", integer::accept_tiles, integer::prepare_tiles, integer::run_nhwc};

}  // namespace halfstep::kernels
#endif
