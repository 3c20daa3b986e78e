// Sums of tiles as codes.
#pragma once

#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_layer.h"

namespace halfstep::kernels::integer {

/// Out channels of a block of weights: two LaneSteps.
inline constexpr int64_t kBlockOutputs = 2 * kLanes;

/// Sums [pixel][kBlockOutputs], whose codes go to dst[pixel * step + channel]. Rows of sums behind the last pixel's may
/// be read.
struct TileCodes {
  const int32_t* acc;
  const LaneSteps* steps;
  void* dst;
  int64_t step, pixels, channels;
};

using ToCodes = void (*)(const CodeRange& range, const TileCodes& tile);

/// For blocks whose steps are general, and for the others.
struct CodesOfForm {
  ToCodes general, plain;
};
CodesOfForm choose_codes(CpuLevel level, arith::Requantization form, arith::ShiftRounding rounding, bool wide_out);

/// Rows of sums that TileCodes may read behind the last pixel's.
inline constexpr int64_t kRowsBehind = 3;

}  // namespace halfstep::kernels::integer
