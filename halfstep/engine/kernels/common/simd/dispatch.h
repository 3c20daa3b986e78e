// Chooses among the levels that a source is compiled for (each_level.h), by the level of the Problem.
//
// A Call does not carry the level, so prepare keeps the chosen function in its state. Highway's dynamic dispatch is not
// used, because it checks the machine and not HALFSTEP_CPU.
#pragma once

#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/kernels/kernel.h"

#ifdef HIGHWAY_HWY_DETECT_TARGETS_H_
#error "include halfstep/engine/kernels/common/simd/highway.h in place of headers of Highway"
#endif

// x86-64 only, like the levels. Highway always compiles its baseline. AVX2 as baseline saves a pass for a processor
// that no kernel supports.
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS HWY_AVX3_DL

/// Pointer to the instance of a function (template arguments included) for a level from avx2 on. Use it in the
/// namespace around HWY_NAMESPACE, under #if HWY_ONCE.
#define HS_SIMD_CHOOSE(level, ...) \
  ((level) >= ::halfstep::CpuLevel::avx512 ? &N_AVX3::__VA_ARGS__ : &N_AVX2::__VA_ARGS__)

namespace halfstep::kernels {

/// First check of every SIMD kernel.
inline Verdict accept_simd(const Problem& problem) {
  return problem.level == CpuLevel::scalar ? refuse(errors::kernel_is_for_other_levels("scalar", "avx2 or higher"))
                                           : accept();
}

}  // namespace halfstep::kernels
