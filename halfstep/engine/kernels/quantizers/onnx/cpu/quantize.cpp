// onnx_quantize_linear on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/onnx/cpu/quantize.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <memory>

#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/cpu/regions.h"
#include "halfstep/engine/kernels/quantizers/onnx/cpu/rule-inl.h"

#ifndef HALFSTEP_KERNELS_ONNX_CPU_QUANTIZE_ONCE
#define HALFSTEP_KERNELS_ONNX_CPU_QUANTIZE_ONCE
namespace halfstep::kernels::onnx {

/// Quantizes elements [begin, end) of the region that starts at element `first`, with the region's parameters.
using QuantizeRegion = void (*)(const elements::Walk& walk, const QuantizeRule& rule, const float* scale,
                                const float* zero_point, const Call& call, int64_t first, int64_t begin, int64_t end);

}  // namespace halfstep::kernels::onnx
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::onnx::HWY_NAMESPACE {

/// Calls body.operator()<T>() for the element types that are computed in float32.
template <class Body>
auto with_quantizable(DType dtype, Body&& body) {
  if (dtype == DType::f16) return body.template operator()<Half>();
  if (dtype == DType::bf16) return body.template operator()<BFloat16>();
  return body.template operator()<float>();
}

struct WrappedCodes {
  static constexpr bool kSmall = false;
  QuantizeRule rule;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 2>& parameters, V x) const {
    return wrapped_code(d, steps_of(d, x, parameters[0], rule.in_bfloat16), parameters[1], rule.range);
  }
};

struct SmallFloats {
  static constexpr bool kSmall = true;
  QuantizeRule rule;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 2>& parameters, V x) const {
    return small_code(d, steps_of(d, x, parameters[0], rule.in_bfloat16), rule.codes);
  }
};

template <class Function, class T, class Code>
void quantize_region(const elements::Walk& walk, const QuantizeRule& rule, const float* scale, const float* zero_point,
                     const Call& call, int64_t first, int64_t begin, int64_t end) {
  using Op = OnnxQuantizeLinear;
  simd::apply<float, 2>(walk, Function{rule}, {scale, zero_point}, begin, end, call.out[Op::out::y].as<Code>() + first,
                        call.in[Op::in::x].as<const T>() + first);
}

/// Codes are stored by their low bits, so that only the bit width matters.
template <class Function>
QuantizeRegion choose_quantized(DType x, DType y) {
  return with_quantizable(x, [&]<class T>() -> QuantizeRegion {
    if constexpr (!Function::kSmall) {
      if (is_wide(y)) return &quantize_region<Function, T, uint16_t>;
    }
    return &quantize_region<Function, T, uint8_t>;
  });
}

QuantizeRegion choose_quantize(const QuantizeRule& rule, DType x, DType y) {
  if (rule.small) return choose_quantized<SmallFloats>(x, y);
  return rule.wraps ? choose_quantized<WrappedCodes>(x, y) : choose_quantized<SaturatedCodes>(x, y);
}

}  // namespace halfstep::kernels::onnx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace onnx {
namespace {

using Op = OnnxQuantizeLinear;

struct QuantizeState {
  Regions regions;
  FloatParameters parameters;
  QuantizeRule rule;
  QuantizeRegion region;
};

Verdict accept(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  return problem.in[Op::in::x]->dtype == DType::i32 ? refuse(errors::kernel_takes_other_types("x", "i32", "floats"))
                                                    : Verdict::accepted();
}

Plan prepare(const Problem& problem) {
  const Op attributes(problem.attributes);
  const Type &x = *problem.in[Op::in::x], &scale = *problem.in[Op::in::y_scale], &y = *problem.out[Op::out::y];
  const Spread spread = Spread::of(x.dims, scale.dims, attributes.axis, attributes.block_size);
  const auto rule = QuantizeRule::of(scale.dtype, y.dtype, attributes.saturate);
  const int64_t result_bytes = spread.size() * static_cast<int64_t>(size_of(y.dtype));
  auto state = std::make_shared<QuantizeState>(Regions(spread, result_bytes), FloatParameters(scale), rule,
                                               HS_SIMD_CHOOSE(problem.level, choose_quantize)(rule, x.dtype, y.dtype));
  return {.state = state,
          .scratch = state->parameters.scratch(),
          .phases = state->parameters.phases(pieces_of(spread.size()))};
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<QuantizeState>(call);
  const ConstView &scale = call.in[Op::in::y_scale], &zero_point = call.in[Op::in::y_zero_point];
  if (state.parameters.is_own_phase(phase)) {
    state.parameters.convert(scale, zero_point, piece, call.scratch);
    return {};
  }
  const PieceParameters parameters(state.parameters, scale, zero_point, call.scratch);
  state.regions.for_each(piece, [&](int64_t first, int64_t parameter, int64_t begin, int64_t end) {
    state.region(state.regions.walk, state.rule, parameters.scales + parameter, parameters.zero_points + parameter,
                 call, first, begin, end);
  });
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cpu_onnx_quantize_linear_simd{"simd", onnx::accept, onnx::prepare, onnx::run};

}  // namespace halfstep::kernels
#endif
