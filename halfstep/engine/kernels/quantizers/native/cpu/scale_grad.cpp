// fake_quantize_scale_grad on vectors. Sums keep the order of blocks.h, so that every level has the bits of the
// reference.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/native/cpu/scale_grad.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <memory>

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/cpu/code-inl.h"
#include "halfstep/engine/kernels/quantizers/native/cpu/sums-inl.h"
#include "halfstep/engine/kernels/quantizers/native/rule.h"

#ifndef HALFSTEP_KERNELS_QUANTIZE_CPU_SCALE_GRAD_ONCE
#define HALFSTEP_KERNELS_QUANTIZE_CPU_SCALE_GRAD_ONCE
namespace halfstep::kernels::native {

/// Scale, zero point and rule of one channel.
struct ChannelRule {
  arith::CodeRule rule;
  float scale;
  int32_t zero_point;
};

/// Adds out_grad times the LSQ slope to the lanes.
using SlopeSlice = void (*)(const ChannelRule& channel, const float* src, const float* out_grad, int64_t size,
                            double* lanes);

}  // namespace halfstep::kernels::native
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::native::HWY_NAMESPACE {

template <class Coder>
struct SlopeTerm {
  HWY_INLINE hn::Vec<F64> value(hn::Vec<Narrow> x, hn::Vec<Narrow> grad) const {
    const auto steps = coder.steps(x);
    const auto unclamped = hn::PromoteTo(F64(), coder.unclamped_of_steps(steps));
    const auto inside = hn::Sub(hn::Sub(unclamped, zero), hn::PromoteTo(F64(), steps));
    const auto not_above = hn::IfThenElse(hn::Gt(unclamped, high), hn::Sub(high, zero), inside);
    const auto slope = hn::IfThenElse(hn::Lt(unclamped, low), hn::Sub(low, zero), not_above);
    return hn::IfThenElseZero(hn::Eq(unclamped, unclamped), hn::Mul(hn::PromoteTo(F64(), grad), slope));
  }
  HWY_INLINE auto full(int64_t i) const {
    return value(hn::LoadU(Narrow(), src + i), hn::LoadU(Narrow(), out_grad + i));
  }
  HWY_INLINE auto part(int64_t i, size_t count) const {
    return value(load_part(src + i, count), load_part(out_grad + i, count));
  }
  const Coder& coder;
  const float* src;
  const float* out_grad;
  hn::Vec<F64> zero, low, high;
};

struct SlopeWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const ChannelRule& channel, const float* src, const float* out_grad, int64_t size, double* lanes) {
    const arith::CodeRule& rule = channel.rule;
    const Coder<Narrow, kMode, kReciprocal> coder(Narrow(), channel.scale, channel.zero_point, rule.code_min,
                                                  rule.code_max);
    const double zero = static_cast<float>(channel.zero_point);
    const SlopeTerm<Coder<Narrow, kMode, kReciprocal>> term{coder,
                                                            src,
                                                            out_grad,
                                                            hn::Set(F64(), zero),
                                                            hn::Set(F64(), double(rule.code_min)),
                                                            hn::Set(F64(), double(rule.code_max))};
    add_to_lanes(lanes, size, term);
  }
};

SlopeSlice choose_slope_slice(const arith::CodeRule& rule) { return choose_by_rule<SlopeWork>(rule); }

}  // namespace halfstep::kernels::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace native {
namespace {

struct ScaleGrad {
  arith::CodeRule rule;
  double gradient_scale;
  Blocks blocks;
  SlopeSlice slice;
};

Verdict accept_scale_grad(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const FakeQuantizeScaleGrad attributes(problem.attributes);
  return accept_run(Channels::of(problem.in[FakeQuantizeScaleGrad::in::x]->dims, attributes.axis));
}

/// Scratch: the sum of each block.
Plan prepare_scale_grad(const Problem& problem) {
  const FakeQuantizeScaleGrad attributes(problem.attributes);
  const arith::CodeRule rule = rule_of(attributes);
  const Blocks blocks(Channels::of(problem.in[FakeQuantizeScaleGrad::in::x]->dims, attributes.axis));
  return {.state = std::make_shared<ScaleGrad>(rule, attributes.gradient_scale, blocks,
                                               HS_SIMD_CHOOSE(problem.level, choose_slope_slice)(rule)),
          .scratch = static_cast<size_t>(blocks.count()) * sizeof(double),
          .phases = {std::max<int64_t>(1, blocks.pieces()), 1}};
}

void add_slopes(const Call& call, const ScaleGrad& state, int64_t piece, double* sums) {
  using In = FakeQuantizeScaleGrad::in;
  const auto* src = call.in[In::x].as<const float>();
  const auto* out_grad = call.in[In::out_grad].as<const float>();
  for (int64_t block = state.blocks.piece_begin(piece); block < state.blocks.piece_end(piece); ++block) {
    const int64_t c = state.blocks.channel_of(block);
    const ChannelRule channel{state.rule, call.in[In::scale].as<const float>()[c],
                              call.in[In::zero_point].as<const int32_t>()[c]};
    SumLanes lanes{};
    state.blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
      state.slice(channel, src + begin, out_grad + begin, size, lanes.data());
    });
    sums[block] = sum_of_lanes(lanes);
  }
}

Status run_scale_grad(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<ScaleGrad>(call);
  auto* sums = reinterpret_cast<double*>(call.scratch);
  if (phase == 0) {
    add_slopes(call, state, piece, sums);
    return {};
  }
  auto* dst = call.out[FakeQuantizeScaleGrad::out::out_].as<float>();
  for (int64_t c = 0; c < call.in[FakeQuantizeScaleGrad::in::scale].size(); ++c) {
    double sum = 0.0;
    for (int64_t b = 0; b < state.blocks.per_channel(); ++b) sum += *sums++;
    dst[c] = static_cast<float>(state.gradient_scale * sum);
  }
  return {};
}

}  // namespace
}  // namespace native

extern const Kernel cpu_fake_quantize_scale_grad_chunks{"chunks", native::accept_scale_grad, native::prepare_scale_grad,
                                                        native::run_scale_grad};

}  // namespace halfstep::kernels
#endif
