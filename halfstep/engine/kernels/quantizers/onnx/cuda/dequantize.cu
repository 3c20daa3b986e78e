// onnx_dequantize_linear on CUDA.
#include <memory>

#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/cuda/spread.cuh"

namespace halfstep::kernels {
namespace onnx {
namespace {

using Op = OnnxDequantizeLinear;

template <class Code, class T>
struct IntegerElement {
  using Parameters = ScalePair;
  ScaleList<Code> list;

  HS_HOST_DEVICE Parameters single() const { return list.at(0); }
  HS_HOST_DEVICE Parameters parameters(int64_t index) const { return list.at(index); }
  HS_HOST_DEVICE T operator()(const Parameters& p, Code code) const {
    return cuda::narrowed<T>(real_of(code, p.zero_point, p.scale));
  }
};

template <class T>
struct SmallElement {
  using Parameters = ScalePair;
  ScaleList<uint8_t> list;
  SmallCodes codes;

  HS_HOST_DEVICE Parameters single() const { return list.at(0); }
  HS_HOST_DEVICE Parameters parameters(int64_t index) const { return list.at(index); }
  HS_HOST_DEVICE T operator()(const Parameters& p, uint8_t code) const {
    return cuda::narrowed<T>(small_real(code, codes) * p.scale);
  }
};

struct State {
  Spread spread;
  SmallCodes codes;
};

Plan prepare(const Problem& problem) {
  const Op attributes(problem.attributes);
  const Type& x = *problem.in[Op::in::x];
  const Spread spread = Spread::of(x.dims, problem.in[Op::in::x_scale]->dims, attributes.axis, attributes.block_size);
  return {.state =
              std::make_shared<State>(spread, is_small_float(x.dtype) ? small_codes(x.dtype, false) : SmallCodes())};
}

/// Calls body.template operator()<T>() with the element type of f32, f16 or bf16.
template <class Body>
void with_result(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f16: return body.template operator()<Half>();
    case DType::bf16: return body.template operator()<BFloat16>();
    default: return body.template operator()<float>();
  }
}

Status run(const Call& call, int, int64_t) {
  const auto& [spread, codes] = state_of<State>(call);
  const ConstView &x = call.in[Op::in::x], &zero_point = call.in[Op::in::x_zero_point];
  const View& y = call.out[Op::out::y];
  const Numbers scales(call.in[Op::in::x_scale]);
  with_result(y.dtype, [&]<class T>() {
    if (is_small_float(x.dtype)) {
      cuda::map(spread.size(), layout_of(spread), SmallElement<T>{{scales, nullptr}, codes}, y.as<T>(),
                x.as<const uint8_t>());
      return;
    }
    with_code(x.dtype, [&]<class Code>() {
      const IntegerElement<Code, T> element{{scales, zero_point.as<const Code>()}};
      cuda::map(spread.size(), layout_of(spread), element, y.as<T>(), x.as<const Code>());
    });
  });
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cuda_onnx_dequantize_linear_elements{"elements", accept_all, onnx::prepare, onnx::run};

}  // namespace halfstep::kernels
