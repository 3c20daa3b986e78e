// What the three candidates differ in: how many codes a unit of four bytes holds, and the micro-kernel that multiplies
// units.
#pragma once

#include "halfstep/base/cpu.h"
#include "halfstep/kernels/integer/cpu/layer.h"

namespace halfstep::kernels::integer {

/// Pixels that are computed, requantized and stored at a time: their units and accumulators stay in the first-level
/// cache.
inline constexpr int64_t kBlockPixels = 64;
/// Micro-kernels compute whole vectors of pixels.
inline constexpr int64_t kPixelLanes = 16;

/// One call of a micro-kernel: acc[o][p] = sum over rows r of the dot product of units[offsets[r] + p] with the weights
/// of (r, o).
struct TileCall {
  const uint32_t* units = nullptr;
  const int64_t* offsets = nullptr;  ///< in units; inside a row tile they have one distance
  int64_t rows = 0;                  ///< a multiple of the row tile
  int64_t row_tile = 1;
  const std::byte* weights = nullptr;  ///< [row / row_tile][output][row % row_tile] of four bytes
  int64_t outputs = 0;                 ///< at most Engine::outputs
  int64_t pixels = 0;                  ///< a multiple of kPixelLanes, at most kBlockPixels
  int32_t* acc = nullptr;  ///< rows of kBlockPixels; those of absent outputs up to Engine::outputs may be overwritten
};

/// In front of a loop over accumulators in registers: GCC keeps an array in registers only where the loops over it are
/// gone early.
#define HS_UNROLL _Pragma("GCC unroll 16")

struct Engine {
  int64_t codes_per_unit = 4;  ///< four u8 codes, or two of any code as int16
  int64_t outputs = 8;         ///< output channels of a block of packed weights
  int64_t largest_row_tile = 1;
  void (*tile)(const TileCall& call) = nullptr;
  void (*begin)(int64_t row_tile) = nullptr;  ///< around the calls of a piece, where not null
  void (*end)() = nullptr;
};

/// Subtracted from codes before they become int16, so that every u16 fits.
constexpr int32_t code_offset(const Engine& engine, const Layer& layer) {
  return engine.codes_per_unit == 2 && layer.wide_in ? 32768 : 0;
}

}  // namespace halfstep::kernels::integer
