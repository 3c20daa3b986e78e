// Tile configuration of AMX.
#pragma once

#include <cstdint>

namespace halfstep::kernels::integer {

#define HS_AMX __attribute__((target("amx-tile,amx-int8")))

/// Operand of ldtilecfg.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

HS_AMX inline void load_config(const TileConfig& config) {
  // GCC 12's _tile_loadconfig declares only the first eight bytes as read, so that the rest may never be stored.
  asm volatile("ldtilecfg %0" ::"m"(config));
}

}  // namespace halfstep::kernels::integer
