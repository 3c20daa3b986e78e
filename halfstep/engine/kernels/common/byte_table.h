// Functions of one byte through a table of their 256 results.
#pragma once

#include <cstdint>

#include "halfstep/core/machine/cpu.h"

namespace halfstep::kernels {

/// dst[i] = table[src[i]] for i in [0, size); the table has 256 entries. `past_caches`: dst is stored past the caches
/// and may be looked at by others when this returns. dst may be src.
using LookUpBytes = void (*)(const uint8_t* table, const uint8_t* src, uint8_t* dst, int64_t size, bool past_caches);

/// For levels from avx2 on.
LookUpBytes look_up_bytes(CpuLevel level);

}  // namespace halfstep::kernels
