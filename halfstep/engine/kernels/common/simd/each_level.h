// Compiles a source for AVX-512, then, in the rest of it, for AVX2. This is Highway's foreach_target.h with its headers
// already read. A kernel file looks like this:
//
//   #define HS_LEVEL_SOURCE "halfstep/engine/kernels/affine/cpu/simd.cpp"  // this file
//   #include "halfstep/engine/kernels/common/simd/each_level.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace halfstep::kernels::affine::HWY_NAMESPACE {
//   void round_row(const float* src, float* dst, int64_t size) { ... hn::ScalableTag<float> ... }
//   }  // namespace halfstep::kernels::affine::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace halfstep::kernels::affine {
//   Verdict accept(const Problem& problem) {
//     if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
//     ...
//   }
//   Plan prepare(const Problem& problem) { ... state->row = HS_SIMD_CHOOSE(problem.level, round_row); ... }
//   }  // namespace halfstep::kernels::affine
//   #endif
//
// The namespace belongs to the family (affine), because these functions have external linkage. Headers that a file
// needs for each level are guarded by HWY_TARGET_TOGGLE (elements-inl.h).
#pragma once

#include "halfstep/engine/kernels/common/simd/highway.h"

#undef HWY_SET_MACROS_PER_TARGET
#undef HWY_TARGET_TOGGLE
#undef HWY_TARGET
#undef HWY_ONCE
#define HWY_TARGET HWY_AVX3
#define HWY_ONCE 0
#include "hwy/ops/set_macros-inl.h"
#include HS_LEVEL_SOURCE  // NOLINT(bugprone-suspicious-include): the source includes itself for another level.

#define HWY_TARGET_TOGGLE
#undef HWY_TARGET
#undef HWY_ONCE
#define HWY_TARGET HWY_AVX2
#define HWY_ONCE 1
#include "hwy/ops/set_macros-inl.h"
