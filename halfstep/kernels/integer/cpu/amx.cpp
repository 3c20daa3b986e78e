// u8 codes by AMX: a tile of 16 outputs by 64 weights times a tile of 16 rows of the patch matrix by 16 pixels.
#include <immintrin.h>

#include "halfstep/kernels/integer/cpu/driver.h"
#include "halfstep/kernels/integer/cpu/tile_config.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace integer {
namespace {

constexpr int64_t kTile = 16;  ///< rows of a tile, and units in one
constexpr int64_t kOutputs = 2 * kTile;
/// Below this a tile of weights is mostly empty and VNNI is faster.
constexpr int64_t kFewestOutputs = 16;

/// Tiles 0 to 3 accumulate, 4 and 5 hold weights, 6 and 7 units.
HS_AMX void begin(int64_t row_tile) {
  TileConfig config;
  for (int t = 0; t < 8; ++t) {
    const bool weights = t == 4 || t == 5;
    config.row_bytes[t] = static_cast<uint16_t>(weights ? row_tile * 4 : kTile * 4);
    config.rows[t] = static_cast<uint8_t>(t >= 6 ? row_tile : kTile);
  }
  load_config(config);
}

HS_AMX void end() { _tile_release(); }

/// One step over a row tile.
struct Step {
  const std::byte* weights;
  const uint32_t* units;
  int64_t weight_stride, unit_stride;  ///< bytes
};

HS_AMX Step step_at(const TileCall& call, int64_t row, int64_t pixel) {
  const int64_t distance = call.row_tile > 1 ? call.offsets[row + 1] - call.offsets[row] : 0;
  return {call.weights + row * kOutputs * 4, call.units + call.offsets[row] + pixel, call.row_tile * 4, distance * 4};
}

/// 32 outputs, 32 pixels.
HS_AMX void tile_2x2(const TileCall& call, int64_t pixel) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t row = 0; row < call.rows; row += call.row_tile) {
    const Step s = step_at(call, row, pixel);
    _tile_loadd(4, s.weights, s.weight_stride);
    _tile_loadd(6, s.units, s.unit_stride);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(7, s.units + kTile, s.unit_stride);
    _tile_dpbsud(1, 4, 7);
    _tile_loadd(5, s.weights + kTile * s.weight_stride, s.weight_stride);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
  int32_t* acc = call.acc + pixel;
  _tile_stored(0, acc, kBlockPixels * 4);
  _tile_stored(1, acc + kTile, kBlockPixels * 4);
  _tile_stored(2, acc + kTile * kBlockPixels, kBlockPixels * 4);
  _tile_stored(3, acc + kTile * kBlockPixels + kTile, kBlockPixels * 4);
}

/// 32 outputs, 16 pixels.
HS_AMX void tile_2x1(const TileCall& call, int64_t pixel) {
  _tile_zero(0);
  _tile_zero(2);
  for (int64_t row = 0; row < call.rows; row += call.row_tile) {
    const Step s = step_at(call, row, pixel);
    _tile_loadd(4, s.weights, s.weight_stride);
    _tile_loadd(6, s.units, s.unit_stride);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(5, s.weights + kTile * s.weight_stride, s.weight_stride);
    _tile_dpbsud(2, 5, 6);
  }
  _tile_stored(0, call.acc + pixel, kBlockPixels * 4);
  _tile_stored(2, call.acc + kTile * kBlockPixels + pixel, kBlockPixels * 4);
}

/// 16 outputs, 16 pixels.
HS_AMX void tile_1x1(const TileCall& call, int64_t pixel) {
  _tile_zero(0);
  for (int64_t row = 0; row < call.rows; row += call.row_tile) {
    const Step s = step_at(call, row, pixel);
    _tile_loadd(4, s.weights, s.weight_stride);
    _tile_loadd(6, s.units, s.unit_stride);
    _tile_dpbsud(0, 4, 6);
  }
  _tile_stored(0, call.acc + pixel, kBlockPixels * 4);
}

HS_AMX void tile(const TileCall& call) {
  int64_t pixel = 0;
  if (call.outputs <= kTile) {
    for (; pixel < call.pixels; pixel += kTile) tile_1x1(call, pixel);
    return;
  }
  for (; pixel + 2 * kTile <= call.pixels; pixel += 2 * kTile) tile_2x2(call, pixel);
  for (; pixel < call.pixels; pixel += kTile) tile_2x1(call, pixel);
}

constexpr Engine kEngine = {
    .codes_per_unit = 4, .outputs = kOutputs, .largest_row_tile = kTile, .tile = tile, .begin = begin, .end = end};

Verdict accept_amx(const Problem& problem) {
  if (problem.level < CpuLevel::amx) return refuse("{} has no AMX", name(problem.level));
  if (problem.in[IntegerConv2d::in::x]->dtype != DType::u8)
    return refuse("AMX multiplies u8 codes, x has {}", name(problem.in[IntegerConv2d::in::x]->dtype));
  if (is_signed(problem.out[0]->dtype))
    return refuse("its codes are unsigned, out has {}", name(problem.out[0]->dtype));
  const Layer layer = layer_of(problem);
  if (layer.outputs < kFewestOutputs)
    return refuse("a group of {} output channels is smaller than {}", layer.outputs, kFewestOutputs);
  return accept_filled(problem);
}

Plan prepare_amx(const Problem& problem) { return prepare_layer(problem, kEngine); }

}  // namespace
}  // namespace integer

const Kernel cpu_integer_conv2d_amx = {"amx", integer::accept_amx, integer::prepare_amx, integer::run_layer};
const Kernel cpu_integer_linear_amx = {"amx", integer::accept_amx, integer::prepare_amx, integer::run_layer};

}  // namespace halfstep::kernels
