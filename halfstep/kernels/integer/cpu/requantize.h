// Accumulators of a block of pixels into codes.
#pragma once

#include "halfstep/base/cpu.h"
#include "halfstep/kernels/integer/cpu/packed.h"

namespace halfstep::kernels::integer {

/// One row of accumulators for each output; rows of accumulators and codes are kBlockPixels apart.
struct RequantizeCall {
  const int32_t* acc = nullptr;
  const ChannelStep* steps = nullptr;
  int64_t outputs = 0;
  int64_t pixels = 0;  ///< a multiple of kPixelLanes
  int32_t y_zero_point = 0;
  arith::Clamp clamp;
  void* codes = nullptr;  ///< u8 or u16
};

using Requantize = void (*)(const RequantizeCall& call);

Requantize choose_requantize(CpuLevel level, const Layer& layer);

}  // namespace halfstep::kernels::integer
