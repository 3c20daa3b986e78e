// onnx_dequantize_linear on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/onnx/cpu/dequantize.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <array>
#include <memory>

#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/cpu/regions.h"

#ifndef HALFSTEP_KERNELS_ONNX_CPU_DEQUANTIZE_ONCE
#define HALFSTEP_KERNELS_ONNX_CPU_DEQUANTIZE_ONCE
namespace halfstep::kernels::onnx {

/// Values of all codes of a small float.
using SmallValues = std::array<float, 256>;

/// Dequantizes elements [begin, end) of the region that starts at element `first`, with the region's parameters.
using DequantizeRegion = void (*)(const elements::Walk& walk, const SmallValues& values, const float* scale,
                                  const float* zero_point, const Call& call, int64_t first, int64_t begin, int64_t end);

}  // namespace halfstep::kernels::onnx
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::onnx::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

struct AffineValues {
  explicit AffineValues(const SmallValues&) {}
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D, const std::array<V, 2>& parameters, V x) const {
    return hn::Mul(hn::Sub(x, parameters[1]), parameters[0]);
  }
};

struct TableValues {
  explicit TableValues(const SmallValues& all) : values(all.data()) {}
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 2>& parameters, V x) const {
    return hn::Mul(hn::GatherIndex(d, values, hn::ConvertTo(hn::RebindToSigned<D>(), x)), parameters[0]);
  }
  const float* values;
};

template <class Function, class Code, class T>
void dequantize_region(const elements::Walk& walk, const SmallValues& values, const float* scale,
                       const float* zero_point, const Call& call, int64_t first, int64_t begin, int64_t end) {
  using Op = OnnxDequantizeLinear;
  simd::apply<float, 2>(walk, Function(values), {scale, zero_point}, begin, end, call.out[Op::out::y].as<T>() + first,
                        call.in[Op::in::x].as<const Code>() + first);
}

template <class T>
DequantizeRegion choose_dequantized(DType x) {
  if (is_small_float(x)) return &dequantize_region<TableValues, uint8_t, T>;
  return with_code(x, []<class Code>() -> DequantizeRegion { return &dequantize_region<AffineValues, Code, T>; });
}

DequantizeRegion choose_dequantize(DType x, DType y) {
  if (y == DType::f16) return choose_dequantized<Half>(x);
  return y == DType::bf16 ? choose_dequantized<BFloat16>(x) : choose_dequantized<float>(x);
}

}  // namespace halfstep::kernels::onnx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace onnx {
namespace {

using Op = OnnxDequantizeLinear;

struct DequantizeState {
  Regions regions;
  FloatParameters parameters;
  SmallValues values;
  DequantizeRegion region;
};

SmallValues values_of(DType dtype) {
  SmallValues values = {};
  if (!is_small_float(dtype)) return values;
  for (size_t code = 0; code < values.size(); ++code)
    values[code] = static_cast<float>(decode(static_cast<uint16_t>(code), SmallFloat::of(dtype)));
  return values;
}

Plan prepare(const Problem& problem) {
  const Op attributes(problem.attributes);
  const Type &x = *problem.in[Op::in::x], &scale = *problem.in[Op::in::x_scale], &y = *problem.out[Op::out::y];
  const Spread spread = Spread::of(x.dims, scale.dims, attributes.axis, attributes.block_size);
  const int64_t result_bytes = spread.size() * static_cast<int64_t>(size_of(y.dtype));
  auto state =
      std::make_shared<DequantizeState>(Regions(spread, result_bytes), FloatParameters(scale), values_of(x.dtype),
                                        HS_SIMD_CHOOSE(problem.level, choose_dequantize)(x.dtype, y.dtype));
  return {.state = state,
          .scratch = state->parameters.scratch(),
          .phases = state->parameters.phases(pieces_of(spread.size()))};
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<DequantizeState>(call);
  const ConstView &scale = call.in[Op::in::x_scale], &zero_point = call.in[Op::in::x_zero_point];
  if (state.parameters.is_own_phase(phase)) {
    state.parameters.convert(scale, zero_point, piece, call.scratch);
    return {};
  }
  const PieceParameters parameters(state.parameters, scale, zero_point, call.scratch);
  state.regions.for_each(piece, [&](int64_t first, int64_t parameter, int64_t begin, int64_t end) {
    state.region(state.regions.walk, state.values, parameters.scales + parameter, parameters.zero_points + parameter,
                 call, first, begin, end);
  });
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cpu_onnx_dequantize_linear_simd{"simd", accept_simd, onnx::prepare, onnx::run};

}  // namespace halfstep::kernels
#endif
