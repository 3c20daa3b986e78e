// Channel planes of codes into units.
#pragma once

#include "halfstep/base/cpu.h"
#include "halfstep/kernels/integer/cpu/engine.h"

namespace halfstep::kernels::integer {

/// units[i] = element i of each of codes_per_unit planes, the first in the lowest bytes. In units of two, codes become
/// int16 less code_offset.
using Interleave = void (*)(const void* const* planes, int64_t count, uint32_t* units);

Interleave choose_interleave(CpuLevel level, const Engine& engine, const Layer& layer);

}  // namespace halfstep::kernels::integer
