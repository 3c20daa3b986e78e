// fake_quantize, fake_quantize_grad, quantize and dequantize on CUDA: the functions of arith/code.h for each element.
#include <memory>

#include "halfstep/kernels/cuda/launch.cuh"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/quantize/channels.h"
#include "halfstep/kernels/quantize/rule.h"

namespace halfstep::kernels {
namespace quantize {
namespace {

/// What an element is quantized with; all four operators have these operands at the same positions.
struct Parameters {
  arith::CodeRule rule;
  Channels channels;
  const float* scale;
  const int32_t* zero_point;

  __device__ int64_t channel(int64_t i) const { return channels.count == 1 ? 0 : i / channels.run % channels.count; }
  __device__ float unclamped(float x, int64_t channel) const {
    return arith::unclamped_code(x, scale[channel], zero_point[channel], rule);
  }
};
static_assert(FakeQuantizeGrad::in::scale == FakeQuantize::in::scale &&
              Quantize::in::scale == FakeQuantize::in::scale && Dequantize::in::scale == FakeQuantize::in::scale);
static_assert(FakeQuantizeGrad::in::zero_point == FakeQuantize::in::zero_point &&
              Quantize::in::zero_point == FakeQuantize::in::zero_point &&
              Dequantize::in::zero_point == FakeQuantize::in::zero_point);

struct FakeQuantizeElement {
  Parameters p;
  const float* src;
  float* dst;
  __device__ void operator()(int64_t i) const {
    const int64_t c = p.channel(i);
    const int32_t code = arith::clamp_code(p.unclamped(src[i], c), p.rule);
    dst[i] = arith::real_of(code, p.scale[c], p.zero_point[c]);
  }
};

struct GradElement {
  Parameters p;
  const float *src, *out_grad;
  float* dst;
  __device__ void operator()(int64_t i) const {
    dst[i] = arith::passes_gradient(p.unclamped(src[i], p.channel(i)), p.rule) ? out_grad[i] : 0.0F;
  }
};

template <class Code>
struct QuantizeElement {
  Parameters p;
  const float* src;
  Code* dst;
  __device__ void operator()(int64_t i) const {
    dst[i] = static_cast<Code>(arith::clamp_code(p.unclamped(src[i], p.channel(i)), p.rule));
  }
};

template <class Code>
struct DequantizeElement {
  Parameters p;
  const Code* src;
  float* dst;
  __device__ void operator()(int64_t i) const {
    const int64_t c = p.channel(i);
    dst[i] = arith::real_of(src[i], p.scale[c], p.zero_point[c]);
  }
};

/// body.template operator()<Code>() with what holds u8, u16, i8 or i4.
template <class Body>
void with_code(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::u8: return body.template operator()<uint8_t>();
    case DType::u16: return body.template operator()<uint16_t>();
    default: break;
  }
  HS_CHECK(stored_as<int8_t>(dtype));
  body.template operator()<int8_t>();
}

struct State {
  arith::CodeRule rule;
  Channels channels;

  Parameters parameters(const Call& call) const {
    return {rule, channels, call.in[FakeQuantize::in::scale].as<const float>(),
            call.in[FakeQuantize::in::zero_point].as<const int32_t>()};
  }
};

template <class Op>
Plan prepare(const Problem& problem) {
  const Op attributes(problem.attributes);
  State state{{}, Channels::of(problem.in[Op::in::x]->dims, attributes.axis)};
  if constexpr (requires { attributes.code_min; }) state.rule = rule_of(attributes);
  return {.state = std::make_shared<State>(state)};
}

Status run_fake_quantize(const Call& call, int, int64_t) {
  const auto& state = state_of<State>(call);
  cuda::for_each_element(state.channels.size(),
                         FakeQuantizeElement{state.parameters(call), call.in[FakeQuantize::in::x].as<const float>(),
                                             call.out[FakeQuantize::out::out_].as<float>()});
  return {};
}

Status run_grad(const Call& call, int, int64_t) {
  using Op = FakeQuantizeGrad;
  const auto& state = state_of<State>(call);
  cuda::for_each_element(state.channels.size(),
                         GradElement{state.parameters(call), call.in[Op::in::x].as<const float>(),
                                     call.in[Op::in::out_grad].as<const float>(), call.out[Op::out::out_].as<float>()});
  return {};
}

Status run_quantize(const Call& call, int, int64_t) {
  const auto& state = state_of<State>(call);
  const View& out = call.out[Quantize::out::out_];
  with_code(out.dtype, [&]<class Code>() {
    cuda::for_each_element(
        state.channels.size(),
        QuantizeElement<Code>{state.parameters(call), call.in[Quantize::in::x].as<const float>(), out.as<Code>()});
  });
  return {};
}

Status run_dequantize(const Call& call, int, int64_t) {
  const auto& state = state_of<State>(call);
  const ConstView& x = call.in[Dequantize::in::x];
  with_code(x.dtype, [&]<class Code>() {
    cuda::for_each_element(state.channels.size(), DequantizeElement<Code>{state.parameters(call), x.as<const Code>(),
                                                                          call.out[Dequantize::out::out_].as<float>()});
  });
  return {};
}

}  // namespace
}  // namespace quantize

const Kernel cuda_fake_quantize_elements = {"elements", accept_all, quantize::prepare<FakeQuantize>,
                                            quantize::run_fake_quantize};
const Kernel cuda_fake_quantize_grad_elements = {"elements", accept_all, quantize::prepare<FakeQuantizeGrad>,
                                                 quantize::run_grad};
const Kernel cuda_quantize_elements = {"elements", accept_all, quantize::prepare<Quantize>,
                                       quantize::run_quantize};
const Kernel cuda_dequantize_elements = {"elements", accept_all, quantize::prepare<Dequantize>,
                                         quantize::run_dequantize};

}  // namespace halfstep::kernels
