// The configuration of AMX.
#pragma once

#include <cstdint>

namespace halfstep::kernels::integer {

#define HS_AMX __attribute__((target("amx-tile,amx-int8")))

/// What ldtilecfg reads.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

HS_AMX inline void load_config(const TileConfig& config) {
  // GCC 12's _tile_loadconfig tells the compiler of the first eight bytes only, and the rest is never stored.
  asm volatile("ldtilecfg %0" ::"m"(config));
}

}  // namespace halfstep::kernels::integer
