// Functions of one byte, as a table of their 256 results.
#pragma once

#include <cstdint>

#include "halfstep/core/machine/cpu.h"

namespace halfstep::kernels {

/// dst[i] = table[src[i]] for i in [0, size). The table has 256 entries. `past_caches`: stores to dst bypass the caches
/// and are visible to others on return. dst may equal src.
using LookUpBytes = void (*)(const uint8_t* table, const uint8_t* src, uint8_t* dst, int64_t size, bool past_caches);

/// The function for a level from avx2 on.
LookUpBytes look_up_bytes(CpuLevel level);

}  // namespace halfstep::kernels
