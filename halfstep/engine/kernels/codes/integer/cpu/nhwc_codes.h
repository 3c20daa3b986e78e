// Converts sums of tiles to codes.
#pragma once

#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_layer.h"

namespace halfstep::kernels::integer {

/// Out channels of a block of weights: two LaneSteps.
inline constexpr int64_t kBlockOutputs = 2 * kLanes;

/// Sums [pixel][kBlockOutputs]. Their codes go to dst[pixel * step + channel]. Up to kRowsBehind rows of sums after the
/// last pixel may be read.
struct TileCodes {
  const int32_t* acc;
  const LaneSteps* steps;
  void* dst;
  int64_t step, pixels, channels;
};

using ToCodes = void (*)(const CodeRange& range, const TileCodes& tile);

/// Functions for blocks with general steps, and for the others.
struct CodesOfForm {
  ToCodes general, plain;
};
CodesOfForm choose_codes(CpuLevel level, arith::Requantization form, arith::ShiftRounding rounding, bool wide_out);

/// Rows of sums after the last pixel that may be read.
inline constexpr int64_t kRowsBehind = 3;

}  // namespace halfstep::kernels::integer
