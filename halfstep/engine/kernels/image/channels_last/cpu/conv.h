// Parts that the fast kernels of fused_conv2d share.
#pragma once

#include <limits>

#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/image/channels_last/geometry.h"

namespace halfstep::kernels::channels_last {

/// Last steps on sums: add the residual, clamp between bounds, write to out.
struct Finish {
  const float* residual;  ///< same layout as out, may be null
  float* out;
  float lowest, highest;
};

/// Whether clamping computes the activation, or there is none.
inline bool is_bound(const Activation& activation) {
  using Kind = Activation::Kind;
  return activation.kind == Kind::none || activation.kind == Kind::relu || activation.kind == Kind::relu6;
}

/// Bounds of the activation. An activation that is not a clamp leaves the sums unbounded.
inline Finish finish_of(const Activation& activation, const Call& call) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  using Kind = Activation::Kind;
  const bool bounded = activation.kind == Kind::relu || activation.kind == Kind::relu6;
  return {.residual = call.in[FusedConv2d::in::residual].as<const float>(),
          .out = call.out[0].as<float>(),
          .lowest = bounded ? 0.0F : -kInfinity,
          .highest = activation.kind == Kind::relu6 ? 6.0F : kInfinity};
}

inline Verdict accept_f32_images(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Type& x = *problem.in[0];
  if (x.dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(x.dtype), "f32"));
  if (count_elements(problem.out[0]->dims) == 0 || count_elements(x.dims) == 0)
    return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  return accept();
}

inline Verdict accept_convolution(const Problem& problem) {
  const Verdict verdict = accept_channels_last(problem);
  return verdict ? accept_f32_images(problem) : verdict;
}

inline int64_t lanes_of(CpuLevel level) { return level >= CpuLevel::avx512 ? 16 : 8; }

}  // namespace halfstep::kernels::channels_last
