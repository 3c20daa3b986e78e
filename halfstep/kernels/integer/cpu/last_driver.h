// channels_last_integer_conv2d with either micro-kernel.
#pragma once

#include "halfstep/kernels/integer/cpu/last_tiling.h"

namespace halfstep::kernels::integer {

/// The plan runs with run_last.
Plan prepare_last(const Problem& problem, const LastEngine& engine);
Status run_last(const Call& call, int phase, int64_t piece);

}  // namespace halfstep::kernels::integer
