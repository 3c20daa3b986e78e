// onnx_quantize_linear and dynamic_quantize_linear on CUDA.
#include <memory>

#include "halfstep/engine/kernels/common/cuda/extremes.cuh"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/cuda/spread.cuh"

namespace halfstep::kernels {
namespace onnx {
namespace {

template <class X, class Code>
struct QuantizeElement {
  using Parameters = ScalePair;
  ScaleList<Code> list;
  QuantizeRule rule;

  HS_HOST_DEVICE Parameters single() const { return list.at(0); }
  HS_HOST_DEVICE Parameters parameters(int64_t index) const { return list.at(index); }
  HS_HOST_DEVICE Code operator()(const Parameters& p, X x) const {
    const float steps = steps_of(real(x), p.scale, rule.in_bfloat16);
    if (rule.small) return static_cast<Code>(small_code(steps, rule.codes));
    return static_cast<Code>(rule.wraps ? wrapped_code(steps, p.zero_point, rule.range)
                                        : saturated_code(steps, p.zero_point, rule.range));
  }
  HS_HOST_DEVICE static float real(int32_t x) { return static_cast<float>(x); }
  template <class T>
  HS_HOST_DEVICE static float real(T x) {
    return cuda::widened(x);
  }
};

struct QuantizeState {
  Spread spread;
  QuantizeRule rule;
};

Plan prepare(const Problem& problem) {
  using Op = OnnxQuantizeLinear;
  const Op attributes(problem.attributes);
  const Type& scale = *problem.in[Op::in::y_scale];
  const Spread spread = Spread::of(problem.in[Op::in::x]->dims, scale.dims, attributes.axis, attributes.block_size);
  const auto rule = QuantizeRule::of(scale.dtype, problem.out[Op::out::y]->dtype, attributes.saturate);
  return {.state = std::make_shared<QuantizeState>(spread, rule)};
}

/// Calls body.template operator()<X>() with the element type of f32, f16, bf16 or i32.
template <class Body>
void with_input(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f16: return body.template operator()<Half>();
    case DType::bf16: return body.template operator()<BFloat16>();
    case DType::i32: return body.template operator()<int32_t>();
    default: return body.template operator()<float>();
  }
}

/// Calls body.template operator()<Code>() with the storage type of a code of at most 16 bits.
template <class Body>
void with_result(DType dtype, Body&& body) {
  if (stored_as<int8_t>(dtype)) return body.template operator()<int8_t>();
  if (dtype == DType::i16) return body.template operator()<int16_t>();
  if (dtype == DType::u16) return body.template operator()<uint16_t>();
  HS_CHECK(stored_as<uint8_t>(dtype));
  body.template operator()<uint8_t>();
}

Status run(const Call& call, int, int64_t) {
  using Op = OnnxQuantizeLinear;
  const auto& [spread, rule] = state_of<QuantizeState>(call);
  const ConstView &x = call.in[Op::in::x], &zero_point = call.in[Op::in::y_zero_point];
  const View& y = call.out[Op::out::y];
  with_input(x.dtype, [&]<class X>() {
    with_result(y.dtype, [&]<class Code>() {
      const Code* zero_points = rule.small ? nullptr : zero_point.as<const Code>();
      const QuantizeElement<X, Code> element{{Numbers(call.in[Op::in::y_scale]), zero_points}, rule};
      cuda::map(spread.size(), layout_of(spread), element, y.as<Code>(), x.as<const X>());
    });
  });
  return {};
}

/// Extends the range by a number and ignores NaN. The range always contains 0.
struct FoldRange {
  float low = 0.0F, high = 0.0F;
  __device__ void take(float x) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  __device__ cuda::Keys keys() const { return {cuda::key_of(-low), cuda::key_of(high)}; }
};

struct DynamicStep {
  const cuda::Keys* keys;
  float* scale;
  uint8_t* zero_point;

  __device__ void operator()() const {
    const bool seen = keys->seen();
    const auto parameters = DynamicParameters::of(seen ? keys->lowest() : 0.0F, seen ? keys->highest() : 0.0F);
    *scale = parameters.scale;
    *zero_point = static_cast<uint8_t>(parameters.zero_point);
  }
};

Plan prepare_dynamic(const Problem&) { return {.state = nullptr, .scratch = sizeof(cuda::Keys)}; }

Status run_dynamic(const Call& call, int, int64_t) {
  using Op = DynamicQuantizeLinear;
  const ConstView& x = call.in[Op::in::x];
  const View &scale = call.out[Op::out::y_scale], &zero_point = call.out[Op::out::y_zero_point];
  auto* keys = reinterpret_cast<cuda::Keys*>(call.scratch);
  const Channels all = {1, 1, x.size()};
  cuda::find_keys<FoldRange>(x.as<const float>(), all, keys);
  cuda::once(DynamicStep{keys, scale.as<float>(), zero_point.as<uint8_t>()});
  ConstView stored = {scale.data, DType::f32, {}};
  const QuantizeElement<float, uint8_t> element{{Numbers(stored), zero_point.as<const uint8_t>()},
                                                QuantizeRule::of(DType::f32, DType::u8, true)};
  cuda::map(x.size(), cuda::Layout::of(all), element, call.out[Op::out::y].as<uint8_t>(), x.as<const float>());
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cuda_onnx_quantize_linear_elements{"elements", accept_all, onnx::prepare, onnx::run};
extern const Kernel cuda_dynamic_quantize_linear_elements{"elements", accept_all, onnx::prepare_dynamic,
                                                          onnx::run_dynamic};

}  // namespace halfstep::kernels
