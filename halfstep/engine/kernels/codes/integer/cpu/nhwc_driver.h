// integer_conv2d and integer_linear with any micro-kernel.
#pragma once

#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_tiling.h"

namespace halfstep::kernels::integer {

/// The plan of a layer. Run it with run_nhwc.
Plan prepare_nhwc(const Problem& problem, const NhwcEngine& engine);
Status run_nhwc(const Call& call, int phase, int64_t piece);

}  // namespace halfstep::kernels::integer
