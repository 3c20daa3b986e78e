// fake_quantize, fake_quantize_grad, quantize and dequantize on CUDA, with the functions of core/arith/code.h for each
// element.
#include <memory>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/cuda/map.cuh"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/rule.h"

namespace halfstep::kernels {
namespace native {
namespace {

/// Parameters of the elements of a channel, in the form of cuda::map. All four operators have these operands at equal
/// positions.
struct ChannelParameters {
  struct Parameters {
    float scale;
    int32_t zero_point;
  };
  arith::CodeRule rule;
  const float* scales;
  const int32_t* zero_points;

  HS_HOST_DEVICE Parameters single() const { return parameters(0); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const { return {scales[channel], zero_points[channel]}; }
  HS_HOST_DEVICE float unclamped(const Parameters& p, float x) const {
    return arith::unclamped_code(x, p.scale, p.zero_point, rule);
  }
};
static_assert(FakeQuantizeGrad::in::scale == FakeQuantize::in::scale &&
              Quantize::in::scale == FakeQuantize::in::scale && Dequantize::in::scale == FakeQuantize::in::scale);
static_assert(kHasPortsOfFakeQuantize<FakeQuantizeOffset> && kHasPortsOfFakeQuantize<FakeQuantizeSoft>);
static_assert(FakeQuantizeGrad::in::zero_point == FakeQuantize::in::zero_point &&
              Quantize::in::zero_point == FakeQuantize::in::zero_point &&
              Dequantize::in::zero_point == FakeQuantize::in::zero_point);

struct FakeQuantizeElement : ChannelParameters {
  HS_HOST_DEVICE float operator()(const Parameters& p, float x) const {
    return arith::real_of(arith::clamp_code(unclamped(p, x), rule), p.scale, p.zero_point);
  }
};

struct GradElement : ChannelParameters {
  HS_HOST_DEVICE float operator()(const Parameters& p, float x, float out_grad) const {
    return arith::passes_gradient(unclamped(p, x), rule) ? out_grad : 0.0F;
  }
};

template <class Code>
struct QuantizeElement : ChannelParameters {
  HS_HOST_DEVICE Code operator()(const Parameters& p, float x) const {
    return static_cast<Code>(arith::clamp_code(unclamped(p, x), rule));
  }
};

template <class Code>
struct DequantizeElement : ChannelParameters {
  HS_HOST_DEVICE float operator()(const Parameters& p, Code code) const {
    return arith::real_of(code, p.scale, p.zero_point);
  }
};

struct State {
  arith::CodeRule rule;
  Channels channels;

  /// dst[i] = Element()(parameters of i, src[i]), with second[i] as a further argument if given.
  template <class Element, class U, class T>
  void map(const Call& call, U* dst, const T* src, const T* second = nullptr) const {
    const Element element{{rule, call.in[FakeQuantize::in::scale].as<const float>(),
                           call.in[FakeQuantize::in::zero_point].as<const int32_t>()}};
    cuda::map(channels.size(), cuda::Layout::of(channels), element, dst, src, second);
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
  using Op = FakeQuantize;
  state_of<State>(call).map<FakeQuantizeElement>(call, call.out[Op::out::out_].as<float>(),
                                                 call.in[Op::in::x].as<const float>());
  return {};
}

Status run_grad(const Call& call, int, int64_t) {
  using Op = FakeQuantizeGrad;
  state_of<State>(call).map<GradElement>(call, call.out[Op::out::out_].as<float>(),
                                         call.in[Op::in::x].as<const float>(),
                                         call.in[Op::in::out_grad].as<const float>());
  return {};
}

Status run_quantize(const Call& call, int, int64_t) {
  using Op = Quantize;
  const View& out = call.out[Op::out::out_];
  with_codes(out.dtype, [&]<class Code>() {
    state_of<State>(call).map<QuantizeElement<Code>>(call, out.as<Code>(), call.in[Op::in::x].as<const float>());
  });
  return {};
}

Status run_dequantize(const Call& call, int, int64_t) {
  using Op = Dequantize;
  const ConstView& x = call.in[Op::in::x];
  with_codes(x.dtype, [&]<class Code>() {
    state_of<State>(call).map<DequantizeElement<Code>>(call, call.out[Op::out::out_].as<float>(), x.as<const Code>());
  });
  return {};
}

}  // namespace
}  // namespace native

extern const Kernel cuda_fake_quantize_elements{"elements", accept_all, native::prepare<FakeQuantize>,
                                                native::run_fake_quantize};
extern const Kernel cuda_fake_quantize_offset_elements{"elements", accept_all, native::prepare<FakeQuantizeOffset>,
                                                       native::run_fake_quantize};
extern const Kernel cuda_fake_quantize_soft_elements{"elements", accept_all, native::prepare<FakeQuantizeSoft>,
                                                     native::run_fake_quantize};
extern const Kernel cuda_fake_quantize_grad_elements{"elements", accept_all, native::prepare<FakeQuantizeGrad>,
                                                     native::run_grad};
extern const Kernel cuda_quantize_elements{"elements", accept_all, native::prepare<Quantize>, native::run_quantize};
extern const Kernel cuda_dequantize_elements{"elements", accept_all, native::prepare<Dequantize>,
                                             native::run_dequantize};

}  // namespace halfstep::kernels
