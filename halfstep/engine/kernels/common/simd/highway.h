// Highway for every level of the kernels. No other header includes Highway's headers, so that they can be precompiled:
// they are read once for all kernels, not once for each level of each.
#pragma once

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/engine/kernels/common/simd/highway-inl.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"

#include "halfstep/engine/kernels/common/simd/highway-inl.h"
