// Channels-last codes with AMX: a tile of pixels, whose rows are read directly from x, times a tile of weights.
#include <fmt/format.h>

#include <immintrin.h>

#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_driver.h"
#include "halfstep/engine/kernels/codes/integer/cpu/tile_config.h"

namespace halfstep::kernels {
namespace integer {
namespace {

/// Tiles 0 to 3 accumulate, 4 and 5 hold codes, 6 and 7 weights.
HS_AMX void begin(int64_t pixels, int64_t chunk) {
  TileConfig config;
  for (int t = 0; t < 8; ++t) {
    config.row_bytes[t] = static_cast<uint16_t>(t == 4 || t == 5 ? chunk : 4 * kLanes);
    config.rows[t] = static_cast<uint8_t>(t < 6 ? pixels : chunk / 4);
  }
  load_config(config);
}

HS_AMX void end() { _tile_release(); }

/// Calls visit(offset in x, weights) for every step.
template <int kVectors, class Visit>
HS_AMX inline __attribute__((always_inline)) void for_each_step(const NhwcTile& tile, Visit&& visit) {
  const std::byte* weights = tile.weights;
  for (int64_t r = 0; r < tile.run_count; ++r) {
    int64_t at = tile.runs[r];
    for (int64_t s = 0; s < tile.steps; ++s, at += tile.chunk, weights += kVectors * tile.chunk * kLanes)
      visit(at, weights);
  }
}

constexpr int64_t kRow = 4 * kLanes;                       ///< bytes of a row of weights
constexpr int64_t kAccRow = 4 * kBlockOutputs;             ///< bytes of a row of sums
constexpr int64_t kAccTile = kTilePixels * kBlockOutputs;  ///< sums of a tile

/// Two tiles of pixels by two vectors of channels. Every row of sums begins with the bias.
HS_AMX void tile_2x2(const NhwcTile& tile) {
  _tile_loadd(0, tile.bias, 0);
  _tile_loadd(1, tile.bias + tile.bias_step, 0);
  _tile_loadd(2, tile.bias, 0);
  _tile_loadd(3, tile.bias + tile.bias_step, 0);
  const int64_t pixel = tile.pixel_step;
  for_each_step<2>(tile, [&](int64_t at, const std::byte* weights) HS_AMX {
    _tile_loadd(6, weights, kRow);
    _tile_loadd(4, tile.x[0] + at, pixel);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(7, weights + tile.chunk * kLanes, kRow);
    _tile_dpbusd(1, 4, 7);
    _tile_loadd(5, tile.x[1] + at, pixel);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  });
  _tile_stored(0, tile.acc, kAccRow);
  _tile_stored(1, tile.acc + kLanes, kAccRow);
  _tile_stored(2, tile.acc + kAccTile, kAccRow);
  _tile_stored(3, tile.acc + kAccTile + kLanes, kAccRow);
}

HS_AMX void tile_1x2(const NhwcTile& tile) {
  _tile_loadd(0, tile.bias, 0);
  _tile_loadd(1, tile.bias + tile.bias_step, 0);
  for_each_step<2>(tile, [&](int64_t at, const std::byte* weights) HS_AMX {
    _tile_loadd(4, tile.x[0] + at, tile.pixel_step);
    _tile_loadd(6, weights, kRow);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(7, weights + tile.chunk * kLanes, kRow);
    _tile_dpbusd(1, 4, 7);
  });
  _tile_stored(0, tile.acc, kAccRow);
  _tile_stored(1, tile.acc + kLanes, kAccRow);
}

HS_AMX void tile_2x1(const NhwcTile& tile) {
  _tile_loadd(0, tile.bias, 0);
  _tile_loadd(2, tile.bias, 0);
  for_each_step<1>(tile, [&](int64_t at, const std::byte* weights) HS_AMX {
    _tile_loadd(6, weights, kRow);
    _tile_loadd(4, tile.x[0] + at, tile.pixel_step);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(5, tile.x[1] + at, tile.pixel_step);
    _tile_dpbusd(2, 5, 6);
  });
  _tile_stored(0, tile.acc, kAccRow);
  _tile_stored(2, tile.acc + kAccTile, kAccRow);
}

HS_AMX void tile_1x1(const NhwcTile& tile) {
  _tile_loadd(0, tile.bias, 0);
  for_each_step<1>(tile, [&](int64_t at, const std::byte* weights) HS_AMX {
    _tile_loadd(4, tile.x[0] + at, tile.pixel_step);
    _tile_loadd(6, weights, kRow);
    _tile_dpbusd(0, 4, 6);
  });
  _tile_stored(0, tile.acc, kAccRow);
}

HS_AMX void tile(const NhwcTile& tile) {
  if (tile.vectors == 2) {
    tile.tiles == 2 ? tile_2x2(tile) : tile_1x2(tile);
  } else {
    tile.tiles == 2 ? tile_2x1(tile) : tile_1x1(tile);
  }
}

constexpr NhwcEngine kEngine = {.tile_pixels = kTilePixels, .tile = tile, .begin = begin, .end = end};

/// With fewer outputs, a tile of weights of a product is mostly empty and VNNI is faster.
constexpr int64_t kFewestOutputs = 16;

Verdict accept_amx(const Problem& problem) {
  if (problem.level < CpuLevel::amx) return refuse(errors::kernel_is_for_other_levels(name(problem.level), "amx"));
  const NhwcLayer layer(problem);
  if (!layer.are_bytes()) return refuse(errors::kernel_takes_other_types("x", name(layer.x_type), "u8"));
  return accept_layer(problem);
}

Verdict accept_amx_product(const Problem& problem) {
  const int64_t outputs = problem.out[0]->dims[1];
  if (outputs < kFewestOutputs)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("{} outputs", outputs),
                                                    fmt::format("at least {}", kFewestOutputs)));
  return accept_amx(problem);
}

Plan prepare_amx(const Problem& problem) { return prepare_nhwc(problem, kEngine); }

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_conv2d_amx{"amx", integer::accept_amx, integer::prepare_amx, integer::run_nhwc};
extern const Kernel cpu_integer_linear_amx{"amx", integer::accept_amx_product, integer::prepare_amx, integer::run_nhwc};

}  // namespace halfstep::kernels
