// Convolution and matrix product of the integer program with any micro-kernel.
#pragma once

#include "halfstep/kernels/integer/cpu/engine.h"
#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels::integer {

/// Packs constant parameters at once; others are packed by a phase of their own at every call. The plan runs with
/// run_layer.
Plan prepare_layer(const Problem& problem, const Engine& engine);
Status run_layer(const Call& call, int phase, int64_t piece);

}  // namespace halfstep::kernels::integer
