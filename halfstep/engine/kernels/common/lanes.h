// Sums of float32 that every level and every compiler adds in one order.
#pragma once

#include "halfstep/engine/kernels/common/blocks.h"

namespace halfstep::kernels {

/// Adds in double: element i goes to lane i % kSumLanes. Vectors of the baseline keep up with memory.
inline void add_in_lanes(const float* src, int64_t size, SumLanes& lanes) {
  int64_t i = 0;
  for (; i + kSumLanes <= size; i += kSumLanes) {
    for (int64_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += double{src[i + lane]};
  }
  for (; i < size; ++i) lanes[i % kSumLanes] += double{src[i]};
}

}  // namespace halfstep::kernels
