// One source, compiled for AVX2 and for AVX-512 through Highway, chosen by the level of the Problem. A kernel file
// looks so:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "halfstep/engine/kernels/affine/cpu/simd.cpp"  // this very file
//   #include "halfstep/engine/kernels/common/simd/dispatch.h"
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
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
// The namespace is the family's own (affine), since these functions have external names.
//
// A Call does not carry the level, so prepare keeps the chosen function in its state. Highway's own dynamic dispatch is
// not used: it would look at the machine and not at HALFSTEP_CPU.
#pragma once

#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/kernels/kernel.h"

#ifdef HIGHWAY_HWY_DETECT_TARGETS_H_
#error "include halfstep/engine/kernels/common/simd/dispatch.h before any header of Highway"
#endif

// x86-64 only, as the levels are. Highway compiles its baseline always; naming AVX2 so saves a pass for a processor
// that no kernel is for.
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS HWY_AVX3_DL

/// Pointer to the instance of a function (its template arguments included) for a level from avx2 on. To be used in the
/// namespace around HWY_NAMESPACE, under #if HWY_ONCE.
#define HS_SIMD_CHOOSE(level, ...) \
  ((level) >= ::halfstep::CpuLevel::avx512 ? &N_AVX3::__VA_ARGS__ : &N_AVX2::__VA_ARGS__)

namespace halfstep::kernels {

/// What every SIMD kernel asks first.
inline Verdict accept_simd(const Problem& problem) {
  return problem.level == CpuLevel::scalar ? refuse(errors::kernel_is_for_other_levels("scalar", "avx2 or higher"))
                                           : accept();
}

}  // namespace halfstep::kernels
