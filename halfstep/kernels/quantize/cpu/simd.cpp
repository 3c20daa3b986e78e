// Elementwise quantizers on vectors: fake_quantize, fake_quantize_grad, quantize, dequantize.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/quantize/cpu/simd.cpp"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>
#include <memory>

#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/quantize/channels.h"
#include "halfstep/kernels/quantize/cpu/code-inl.h"
#include "halfstep/kernels/quantize/rule.h"

#ifndef HALFSTEP_KERNELS_QUANTIZE_CPU_SIMD_ONCE
#define HALFSTEP_KERNELS_QUANTIZE_CPU_SIMD_ONCE
namespace halfstep::kernels::quantize {

struct Elementwise;
/// Elements [begin, end) of a call.
using PieceFunction = void (*)(const Elementwise& state, const Call& call, int64_t begin, int64_t end);

struct Elementwise {
  arith::CodeRule rule;
  Channels channels;
  PieceFunction piece;
};

}  // namespace halfstep::kernels::quantize
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::quantize::HWY_NAMESPACE {
#if HS_SIMD_TARGET

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;

/// work.full(i) for whole vectors, then work.part(i, count) for the rest.
template <class Work>
HWY_INLINE void for_each_vector(int64_t size, const Work& work) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F32()));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) work.full(i);
  if (i < size) work.part(i, size - i);
}

static_assert(FakeQuantizeGrad::in::scale == FakeQuantize::in::scale && Quantize::in::scale == FakeQuantize::in::scale);
static_assert(FakeQuantizeGrad::in::zero_point == FakeQuantize::in::zero_point &&
              Quantize::in::zero_point == FakeQuantize::in::zero_point);

/// Work over the runs of a piece, with a Coder for each.
template <class Work, arith::Rounding kMode, bool kReciprocal>
HWY_INLINE void code_runs(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
  const auto* scale = call.in[FakeQuantize::in::scale].as<const float>();
  const auto* zero_point = call.in[FakeQuantize::in::zero_point].as<const int32_t>();
  for (RunWalk run(state.channels, begin, end); run.next();) {
    const int64_t c = run.channel();
    const Coder<F32, kMode, kReciprocal> coder(F32(), scale[c], zero_point[c], state.rule.code_min,
                                               state.rule.code_max);
    for_each_vector(run.size(), Work(call, run.begin(), coder));
  }
}

template <class Coder>
struct FakeQuantizeRun {
  FakeQuantizeRun(const Call& call, int64_t begin, const Coder& with)
      : src(call.in[FakeQuantize::in::x].as<const float>() + begin),
        dst(call.out[FakeQuantize::out::out_].as<float>() + begin),
        coder(with) {}
  HWY_INLINE auto value(hn::Vec<F32> x) const { return coder.real(coder.clamped(coder.unclamped(x))); }
  HWY_INLINE void full(int64_t i) const { hn::StoreU(value(hn::LoadU(F32(), src + i)), F32(), dst + i); }
  HWY_INLINE void part(int64_t i, int64_t count) const {
    const auto mask = hn::FirstN(F32(), static_cast<size_t>(count));
    hn::BlendedStore(value(hn::MaskedLoad(mask, F32(), src + i)), mask, F32(), dst + i);
  }
  const float* src;
  float* dst;
  const Coder& coder;
};

struct FakeQuantizeWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
    code_runs<FakeQuantizeRun<Coder<F32, kMode, kReciprocal>>, kMode, kReciprocal>(state, call, begin, end);
  }
};

template <class Coder>
struct GradRun {
  GradRun(const Call& call, int64_t begin, const Coder& with)
      : src(call.in[FakeQuantizeGrad::in::x].as<const float>() + begin),
        out_grad(call.in[FakeQuantizeGrad::in::out_grad].as<const float>() + begin),
        dst(call.out[FakeQuantizeGrad::out::out_].as<float>() + begin),
        coder(with) {}
  HWY_INLINE auto value(hn::Vec<F32> x, hn::Vec<F32> grad) const {
    return hn::IfThenElseZero(coder.inside(coder.unclamped(x)), grad);
  }
  HWY_INLINE void full(int64_t i) const {
    hn::StoreU(value(hn::LoadU(F32(), src + i), hn::LoadU(F32(), out_grad + i)), F32(), dst + i);
  }
  HWY_INLINE void part(int64_t i, int64_t count) const {
    const auto mask = hn::FirstN(F32(), static_cast<size_t>(count));
    const auto x = hn::MaskedLoad(mask, F32(), src + i);
    hn::BlendedStore(value(x, hn::MaskedLoad(mask, F32(), out_grad + i)), mask, F32(), dst + i);
  }
  const float* src;
  const float* out_grad;
  float* dst;
  const Coder& coder;
};

struct GradWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
    code_runs<GradRun<Coder<F32, kMode, kReciprocal>>, kMode, kReciprocal>(state, call, begin, end);
  }
};

template <class Code, class Coder>
struct QuantizeRun {
  QuantizeRun(const Call& call, int64_t begin, const Coder& with)
      : src(call.in[Quantize::in::x].as<const float>() + begin),
        dst(call.out[Quantize::out::out_].as<Code>() + begin),
        coder(with) {}
  HWY_INLINE void store(hn::Vec<F32> x, Code* to) const {
    const auto codes = hn::ConvertTo(I32(), coder.clamped(coder.unclamped(x)));
    const hn::Rebind<Code, F32> narrow;
    hn::StoreU(hn::DemoteTo(narrow, codes), narrow, to);
  }
  HWY_INLINE void full(int64_t i) const { store(hn::LoadU(F32(), src + i), dst + i); }
  HWY_INLINE void part(int64_t i, int64_t count) const {
    Code codes[hn::MaxLanes(F32())];
    store(hn::MaskedLoad(hn::FirstN(F32(), static_cast<size_t>(count)), F32(), src + i), codes);
    std::memcpy(dst + i, codes, static_cast<size_t>(count) * sizeof(Code));
  }
  const float* src;
  Code* dst;
  const Coder& coder;
};

template <class Code>
struct QuantizeWork {
  template <arith::Rounding kMode, bool kReciprocal>
  static void run(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
    code_runs<QuantizeRun<Code, Coder<F32, kMode, kReciprocal>>, kMode, kReciprocal>(state, call, begin, end);
  }
};

template <class Code>
struct DequantizeRun {
  HWY_INLINE void store(const Code* from, float* to, int64_t count) const {
    const auto codes = hn::PromoteTo(I32(), hn::LoadU(hn::Rebind<Code, F32>(), from));
    const auto value = hn::Mul(hn::Sub(hn::ConvertTo(F32(), codes), zero_point), scale);
    if (count == static_cast<int64_t>(hn::Lanes(F32()))) return hn::StoreU(value, F32(), to);
    hn::BlendedStore(value, hn::FirstN(F32(), static_cast<size_t>(count)), F32(), to);
  }
  HWY_INLINE void full(int64_t i) const { store(src + i, dst + i, static_cast<int64_t>(hn::Lanes(F32()))); }
  HWY_INLINE void part(int64_t i, int64_t count) const {
    Code codes[hn::MaxLanes(F32())] = {};
    std::memcpy(codes, src + i, static_cast<size_t>(count) * sizeof(Code));
    store(codes, dst + i, count);
  }
  const Code* src;
  float* dst;
  hn::Vec<F32> scale, zero_point;
};

template <class Code>
void dequantize_piece(const Elementwise& state, const Call& call, int64_t begin, int64_t end) {
  const auto* src = call.in[Dequantize::in::x].as<const Code>();
  const auto* scale = call.in[Dequantize::in::scale].as<const float>();
  const auto* zero_point = call.in[Dequantize::in::zero_point].as<const int32_t>();
  auto* dst = call.out[Dequantize::out::out_].as<float>();
  for (RunWalk run(state.channels, begin, end); run.next();) {
    const int64_t c = run.channel();
    for_each_vector(run.size(), DequantizeRun<Code>{src + run.begin(), dst + run.begin(), hn::Set(F32(), scale[c]),
                                                    hn::Set(F32(), static_cast<float>(zero_point[c]))});
  }
}

PieceFunction choose_fake_quantize(const arith::CodeRule& rule) { return choose_by_rule<FakeQuantizeWork>(rule); }

PieceFunction choose_fake_quantize_grad(const arith::CodeRule& rule) { return choose_by_rule<GradWork>(rule); }

PieceFunction choose_quantize(const arith::CodeRule& rule, DType dtype) {
  switch (dtype) {
    case DType::u8: return choose_by_rule<QuantizeWork<uint8_t>>(rule);
    case DType::u16: return choose_by_rule<QuantizeWork<uint16_t>>(rule);
    default: return choose_by_rule<QuantizeWork<int8_t>>(rule);
  }
}

PieceFunction choose_dequantize(DType dtype) {
  switch (dtype) {
    case DType::u8: return &dequantize_piece<uint8_t>;
    case DType::u16: return &dequantize_piece<uint16_t>;
    default: return &dequantize_piece<int8_t>;
  }
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::quantize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace quantize {
namespace {

template <class Typed>
Verdict accept_runs(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  return accept_run(Channels::of(problem.in[Typed::in::x]->dims, Typed(problem.attributes).axis));
}

Plan plan_of(Elementwise state) {
  const int64_t pieces = pieces_of(state.channels.size());
  return {.state = std::make_shared<Elementwise>(state), .phases = {pieces}};
}

template <class Typed>
Channels channels_of(const Problem& problem, const Typed& attributes) {
  return Channels::of(problem.in[Typed::in::x]->dims, attributes.axis);
}

Plan prepare_fake_quantize(const Problem& problem) {
  const FakeQuantize attributes(problem.attributes);
  const arith::CodeRule rule = rule_of(attributes);
  return plan_of({rule, channels_of(problem, attributes), HS_SIMD_CHOOSE(problem.level, choose_fake_quantize)(rule)});
}

Plan prepare_fake_quantize_grad(const Problem& problem) {
  const FakeQuantizeGrad attributes(problem.attributes);
  const arith::CodeRule rule = rule_of(attributes);
  return plan_of(
      {rule, channels_of(problem, attributes), HS_SIMD_CHOOSE(problem.level, choose_fake_quantize_grad)(rule)});
}

Plan prepare_quantize(const Problem& problem) {
  const Quantize attributes(problem.attributes);
  const arith::CodeRule rule = rule_of(attributes);
  const DType dtype = problem.out[Quantize::out::out_]->dtype;
  return plan_of({rule, channels_of(problem, attributes), HS_SIMD_CHOOSE(problem.level, choose_quantize)(rule, dtype)});
}

Plan prepare_dequantize(const Problem& problem) {
  const Dequantize attributes(problem.attributes);
  const DType dtype = problem.in[Dequantize::in::x]->dtype;
  return plan_of({{}, channels_of(problem, attributes), HS_SIMD_CHOOSE(problem.level, choose_dequantize)(dtype)});
}

Status run(const Call& call, int, int64_t piece) {
  const auto& state = *static_cast<const Elementwise*>(call.state);
  const int64_t begin = piece * kPieceElements;
  state.piece(state, call, begin, std::min(begin + kPieceElements, state.channels.size()));
  return {};
}

}  // namespace
}  // namespace quantize

const Kernel cpu_fake_quantize_simd = {"simd", quantize::accept_runs<FakeQuantize>, quantize::prepare_fake_quantize,
                                       quantize::run};
const Kernel cpu_fake_quantize_grad_simd = {"simd", quantize::accept_runs<FakeQuantizeGrad>,
                                            quantize::prepare_fake_quantize_grad, quantize::run};
const Kernel cpu_quantize_simd = {"simd", quantize::accept_runs<Quantize>, quantize::prepare_quantize, quantize::run};
const Kernel cpu_dequantize_simd = {"simd", quantize::accept_runs<Dequantize>, quantize::prepare_dequantize,
                                    quantize::run};

}  // namespace halfstep::kernels
#endif
