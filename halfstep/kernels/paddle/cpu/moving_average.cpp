// fake_quantize_dequantize_moving_average_abs_max on vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/paddle/cpu/moving_average.cpp"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <memory>

#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/paddle/cpu/rule-inl.h"
#include "halfstep/kernels/quantize/channels.h"

#ifndef HALFSTEP_KERNELS_PADDLE_CPU_MOVING_AVERAGE_ONCE
#define HALFSTEP_KERNELS_PADDLE_CPU_MOVING_AVERAGE_ONCE
namespace halfstep::kernels::paddle {

using LargestFunction = float (*)(const float* src, int64_t size);
using QuantizeFunction = void (*)(float scale, float q, const float* src, float* dst, int64_t size);

}  // namespace halfstep::kernels::paddle
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::paddle::HWY_NAMESPACE {
#if HS_SIMD_TARGET

float largest_of_piece(const float* src, int64_t size) { return largest_magnitude(src, size); }

template <bool kHalfEven>
void quantize_piece(float scale, float q, const float* src, float* dst, int64_t size) {
  quantize_run(Quantizer<kHalfEven>(hn::Set(F32(), scale), q), src, dst, size);
}

QuantizeFunction choose_quantize_piece(bool half_even) {
  return half_even ? &quantize_piece<true> : &quantize_piece<false>;
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::paddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace paddle {
namespace {

using Op = FakeQuantizeDequantizeMovingAverageAbsMax;

struct AverageState {
  Rule rule;
  float rate;
  bool is_test;
  int64_t size, pieces;
  LargestFunction largest;
  QuantizeFunction quantize;
};

/// Scratch: the scale, then the largest magnitude of each piece.
Plan prepare(const Problem& problem) {
  const Op attributes(problem.attributes);
  const Rule rule = Rule::of(attributes.bit_length, attributes.round_type);
  const int64_t size = count_elements(problem.in[Op::in::x]->dims);
  const int64_t pieces = pieces_of(size);
  Plan plan;
  plan.state = std::make_shared<AverageState>(rule, static_cast<float>(attributes.moving_rate), attributes.is_test,
                                              size, pieces, HS_SIMD_CHOOSE(problem.level, largest_of_piece),
                                              HS_SIMD_CHOOSE(problem.level, choose_quantize_piece)(rule.half_even));
  plan.phases = {pieces};
  if (attributes.is_test) return plan;
  plan.scratch = static_cast<size_t>(1 + pieces) * sizeof(float);
  plan.phases = {pieces, 1, pieces};
  return plan;
}

float find_scale(const Call& call, const AverageState& state, const float* largest_of_pieces) {
  const auto* src = call.in[Op::in::x].as<const float>();
  float largest = 0.0F;
  for (int64_t i = 0; i < state.pieces; ++i) largest = std::max(largest, largest_of_pieces[i]);
  if (state.size > 0 && std::isnan(src[0])) largest = std::fabs(src[0]);
  const auto next = MovingAverage::of(*call.in[Op::in::in_accum].as<const float>(),
                                      *call.in[Op::in::in_state].as<const float>(), largest, state.rate);
  *call.out[Op::out::out_scale].as<float>() = next.scale;
  *call.out[Op::out::out_state].as<float>() = next.state;
  *call.out[Op::out::out_accum].as<float>() = next.accum;
  return next.scale;
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = *static_cast<const AverageState*>(call.state);
  auto* scratch = reinterpret_cast<float*>(call.scratch);
  const int64_t begin = piece * kPieceElements;
  const int64_t size = std::min(kPieceElements, state.size - begin);
  const float* src = call.in[Op::in::x].as<const float>() + begin;
  if (phase == 2 || state.is_test) {
    const float scale = state.is_test ? *call.in[Op::in::in_scale].as<const float>() : scratch[0];
    state.quantize(scale, state.rule.q, src, call.out[Op::out::out_].as<float>() + begin, size);
  } else if (phase == 0) {
    scratch[1 + piece] = state.largest(src, size);
  } else {
    scratch[0] = find_scale(call, state, scratch + 1);
  }
  return {};
}

}  // namespace
}  // namespace paddle

const Kernel cpu_fake_quantize_dequantize_moving_average_abs_max_simd = {"simd", accept_simd, paddle::prepare,
                                                                         paddle::run};

}  // namespace halfstep::kernels
#endif
