// Elementwise quantizers on vectors: fake_quantize, fake_quantize_grad, quantize, dequantize.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/native/cpu/simd.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <array>
#include <memory>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/cpu/code-inl.h"
#include "halfstep/engine/kernels/quantizers/native/rule.h"

#ifndef HALFSTEP_KERNELS_QUANTIZE_CPU_SIMD_ONCE
#define HALFSTEP_KERNELS_QUANTIZE_CPU_SIMD_ONCE
namespace halfstep::kernels::native {

struct Elementwise;
/// Computes elements [begin, end) of a call.
using PieceFunction = void (*)(const Elementwise& state, const Call& call, int64_t begin, int64_t end);

struct Elementwise {
  arith::CodeRule rule;
  Channels channels;
  bool stream;  ///< results bypass the caches
  PieceFunction piece;
};

}  // namespace halfstep::kernels::native
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::native::HWY_NAMESPACE {

namespace simd = elements::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;
using NoParameters = std::array<V32, 0>;

static_assert(FakeQuantizeGrad::in::scale == FakeQuantize::in::scale && Quantize::in::scale == FakeQuantize::in::scale);
static_assert(kHasPortsOfFakeQuantize<FakeQuantizeOffset> && kHasPortsOfFakeQuantize<FakeQuantizeSoft>);
static_assert(FakeQuantizeGrad::in::zero_point == FakeQuantize::in::zero_point &&
              Quantize::in::zero_point == FakeQuantize::in::zero_point);

/// Writes the elements of a run, with the codes of either coder.
template <class Coder>
struct FakeQuantized {
  HWY_INLINE V32 operator()(F32, const NoParameters&, V32 x) const { return coder.real(x); }
  Coder coder;
};

template <class Coder>
struct MaskedGradient {
  HWY_INLINE V32 operator()(F32, const NoParameters&, V32 x, V32 out_grad) const {
    return hn::IfThenElseZero(coder.inside(x), out_grad);
  }
  Coder coder;
};

template <class Coder>
struct Codes {
  HWY_INLINE V32 operator()(F32, const NoParameters&, V32 x) const { return coder.low_bits(x); }
  Coder coder;
};

struct RealValues {
  HWY_INLINE V32 operator()(F32, const NoParameters&, V32 code) const {
    return hn::Mul(hn::Sub(code, zero_point), scale);
  }
  V32 scale, zero_point;
};

/// dst = function(src...) along a run.
template <class Function, class U, class... T>
HWY_INLINE void write_run(const Elementwise& state, const RunWalk& run, const Function& function, U* dst,
                          const T*... src) {
  const simd::UniformRow<F32, U, 0, Function, T...> row{function, {}, {src + run.begin()...}};
  simd::write_row(F32(), dst + run.begin(), run.size(), state.stream, row);
}

/// Processes the runs of a piece, each with the coder of its channel: UniformCoder, which fits nearly all scales, or
/// Coder.
template <template <class> class Function, arith::Rounding kMode, bool kReciprocal, class U, class... T>
HWY_INLINE void code_runs(const Elementwise& state, const Call& call, int64_t begin, int64_t end, U* dst,
                          const T*... src) {
  const auto* scale = call.in[FakeQuantize::in::scale].as<const float>();
  const auto* zero_point = call.in[FakeQuantize::in::zero_point].as<const int32_t>();
  for (RunWalk run(state.channels, begin, end); run.next();) {
    const int64_t c = run.channel();
    using Plain = Coder<F32, kMode, kReciprocal>;
    using Uniform = UniformCoder<F32, kMode, kReciprocal>;
    if (const Uniform uniform(F32(), scale[c], zero_point[c], state.rule); uniform.holds()) {
      write_run(state, run, Function<Uniform>{uniform}, dst, src...);
    } else {
      const Plain plain(F32(), scale[c], zero_point[c], state.rule.code_min, state.rule.code_max);
      write_run(state, run, Function<Plain>{plain}, dst, src...);
    }
  }
  if (state.stream) hwy::FlushStream();
}

struct FakeQuantizeWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
    code_runs<FakeQuantized, kMode, kReciprocal>(state, call, begin, end, call.out[FakeQuantize::out::out_].as<float>(),
                                                 call.in[FakeQuantize::in::x].as<const float>());
  }
};

struct GradWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
    code_runs<MaskedGradient, kMode, kReciprocal>(
        state, call, begin, end, call.out[FakeQuantizeGrad::out::out_].as<float>(),
        call.in[FakeQuantizeGrad::in::x].as<const float>(), call.in[FakeQuantizeGrad::in::out_grad].as<const float>());
  }
};

template <class Code>
struct QuantizeWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
    code_runs<Codes, kMode, kReciprocal>(state, call, begin, end, call.out[Quantize::out::out_].as<Code>(),
                                         call.in[Quantize::in::x].as<const float>());
  }
};

template <class Code>
void dequantize_piece(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
  const auto* scale = call.in[Dequantize::in::scale].as<const float>();
  const auto* zero_point = call.in[Dequantize::in::zero_point].as<const int32_t>();
  for (RunWalk run(state.channels, begin, end); run.next();) {
    const int64_t c = run.channel();
    const RealValues values{hn::Set(F32(), scale[c]), hn::Set(F32(), static_cast<float>(zero_point[c]))};
    write_run(state, run, values, call.out[Dequantize::out::out_].as<float>(),
              call.in[Dequantize::in::x].as<const Code>());
  }
  if (state.stream) hwy::FlushStream();
}

PieceFunction choose_fake_quantize(const arith::CodeRule& rule) { return choose_by_rule<FakeQuantizeWork>(rule); }

PieceFunction choose_fake_quantize_grad(const arith::CodeRule& rule) { return choose_by_rule<GradWork>(rule); }

PieceFunction choose_quantize(const arith::CodeRule& rule, DType dtype) {
  // Codes are stored by their low bits, so that only the bit width matters.
  return is_wide(dtype) ? choose_by_rule<QuantizeWork<uint16_t>>(rule) : choose_by_rule<QuantizeWork<uint8_t>>(rule);
}

PieceFunction choose_dequantize(DType dtype) {
  return with_codes(dtype, [&]<class Code>() -> PieceFunction { return &dequantize_piece<Code>; });
}

}  // namespace halfstep::kernels::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace native {
namespace {

template <class Typed>
Verdict accept_runs(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  return accept_run(Channels::of(problem.in[Typed::in::x]->dims, Typed(problem.attributes).axis));
}

template <class Typed>
Plan plan_of(const Problem& problem, const arith::CodeRule& rule, PieceFunction piece) {
  const auto channels = Channels::of(problem.in[Typed::in::x]->dims, Typed(problem.attributes).axis);
  const int64_t size = channels.size();
  const bool stream = elements::streams(size * static_cast<int64_t>(size_of(problem.out[0]->dtype)));
  return {.state = std::make_shared<Elementwise>(rule, channels, stream, piece), .phases = {pieces_of(size)}};
}

template <class Typed>
Plan prepare_fake_quantize(const Problem& problem) {
  const arith::CodeRule rule = rule_of(Typed(problem.attributes));
  return plan_of<Typed>(problem, rule, HS_SIMD_CHOOSE(problem.level, choose_fake_quantize)(rule));
}

Plan prepare_fake_quantize_grad(const Problem& problem) {
  const arith::CodeRule rule = rule_of(FakeQuantizeGrad(problem.attributes));
  return plan_of<FakeQuantizeGrad>(problem, rule, HS_SIMD_CHOOSE(problem.level, choose_fake_quantize_grad)(rule));
}

Plan prepare_quantize(const Problem& problem) {
  const arith::CodeRule rule = rule_of(Quantize(problem.attributes));
  const DType dtype = problem.out[Quantize::out::out_]->dtype;
  return plan_of<Quantize>(problem, rule, HS_SIMD_CHOOSE(problem.level, choose_quantize)(rule, dtype));
}

Plan prepare_dequantize(const Problem& problem) {
  const DType dtype = problem.in[Dequantize::in::x]->dtype;
  return plan_of<Dequantize>(problem, {}, HS_SIMD_CHOOSE(problem.level, choose_dequantize)(dtype));
}

Status run(const Call& call, int, int64_t piece) {
  const auto& state = state_of<Elementwise>(call);
  const int64_t begin = piece * kPieceElements;
  state.piece(state, call, begin, std::min(begin + kPieceElements, state.channels.size()));
  return {};
}

}  // namespace
}  // namespace native

extern const Kernel cpu_fake_quantize_simd{"simd", native::accept_runs<FakeQuantize>,
                                           native::prepare_fake_quantize<FakeQuantize>, native::run};
extern const Kernel cpu_fake_quantize_offset_simd{"simd", native::accept_runs<FakeQuantizeOffset>,
                                                  native::prepare_fake_quantize<FakeQuantizeOffset>, native::run};
extern const Kernel cpu_fake_quantize_soft_simd{"simd", native::accept_runs<FakeQuantizeSoft>,
                                                native::prepare_fake_quantize<FakeQuantizeSoft>, native::run};
extern const Kernel cpu_fake_quantize_grad_simd{"simd", native::accept_runs<FakeQuantizeGrad>,
                                                native::prepare_fake_quantize_grad, native::run};
extern const Kernel cpu_quantize_simd{"simd", native::accept_runs<Quantize>, native::prepare_quantize, native::run};
extern const Kernel cpu_dequantize_simd{"simd", native::accept_runs<Dequantize>, native::prepare_dequantize,
                                        native::run};

}  // namespace halfstep::kernels
#endif
