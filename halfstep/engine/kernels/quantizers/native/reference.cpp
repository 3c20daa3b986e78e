// Reference kernels of quantizers (docs/arithmetic.md, section 2). reference_sums.cpp has the operators with sums.
#include <memory>

#include "halfstep/core/arith/bias.h"
#include "halfstep/core/arith/range.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/rule.h"

namespace halfstep::kernels {
namespace {

struct State {
  arith::CodeRule rule;
  Channels channels;
};

/// Calls function(element, its channel) in order.
template <class Function>
void for_each_element(const Channels& channels, Function&& function) {
  for (int64_t i = 0; i < channels.size(); ++i) function(i, i / channels.run % channels.count);
}

Plan prepare_nothing(const Problem&) { return {}; }

template <class Typed>
Plan prepare_rule(const Problem& problem) {
  const Typed attributes(problem.attributes);
  const Channels channels = Channels::of(problem.in[Typed::in::x]->dims, attributes.axis);
  return {.state = std::make_shared<State>(rule_of(attributes), channels)};
}

Plan prepare_dequantize(const Problem& problem) {
  const Dequantize attributes(problem.attributes);
  const Channels channels = Channels::of(problem.in[Dequantize::in::x]->dims, attributes.axis);
  return {.state = std::make_shared<State>(arith::CodeRule{}, channels)};
}

Status run_fake_quantize(const Call& call, int, int64_t) {
  const State& state = state_of<State>(call);
  const auto* src = call.in[FakeQuantize::in::x].as<const float>();
  const auto* scale = call.in[FakeQuantize::in::scale].as<const float>();
  const auto* zero_point = call.in[FakeQuantize::in::zero_point].as<const int32_t>();
  auto* dst = call.out[FakeQuantize::out::out_].as<float>();
  for_each_element(state.channels, [&](int64_t i, int64_t c) {
    dst[i] = arith::real_of(arith::code_of(src[i], scale[c], zero_point[c], state.rule), scale[c], zero_point[c]);
  });
  return {};
}

Status run_fake_quantize_grad(const Call& call, int, int64_t) {
  const State& state = state_of<State>(call);
  const auto* src = call.in[FakeQuantizeGrad::in::x].as<const float>();
  const auto* scale = call.in[FakeQuantizeGrad::in::scale].as<const float>();
  const auto* zero_point = call.in[FakeQuantizeGrad::in::zero_point].as<const int32_t>();
  const auto* out_grad = call.in[FakeQuantizeGrad::in::out_grad].as<const float>();
  auto* dst = call.out[FakeQuantizeGrad::out::out_].as<float>();
  for_each_element(state.channels, [&](int64_t i, int64_t c) {
    const float unclamped = arith::unclamped_code(src[i], scale[c], zero_point[c], state.rule);
    dst[i] = arith::passes_gradient(unclamped, state.rule) ? out_grad[i] : 0.0F;
  });
  return {};
}

template <class Code>
void quantize_as(const Call& call) {
  const State& state = state_of<State>(call);
  const auto* src = call.in[Quantize::in::x].as<const float>();
  const auto* scale = call.in[Quantize::in::scale].as<const float>();
  const auto* zero_point = call.in[Quantize::in::zero_point].as<const int32_t>();
  auto* dst = call.out[Quantize::out::out_].as<Code>();
  for_each_element(state.channels, [&](int64_t i, int64_t c) {
    dst[i] = static_cast<Code>(arith::code_of(src[i], scale[c], zero_point[c], state.rule));
  });
}

template <class Code>
void dequantize_as(const Call& call) {
  const auto* src = call.in[Dequantize::in::x].as<const Code>();
  const auto* scale = call.in[Dequantize::in::scale].as<const float>();
  const auto* zero_point = call.in[Dequantize::in::zero_point].as<const int32_t>();
  auto* dst = call.out[Dequantize::out::out_].as<float>();
  for_each_element(state_of<State>(call).channels,
                   [&](int64_t i, int64_t c) { dst[i] = arith::real_of(src[i], scale[c], zero_point[c]); });
}

Status run_quantize(const Call& call, int, int64_t) {
  with_codes(call.out[Quantize::out::out_].dtype, [&]<class Code>() { quantize_as<Code>(call); });
  return {};
}

Status run_dequantize(const Call& call, int, int64_t) {
  with_codes(call.in[Dequantize::in::x].dtype, [&]<class Code>() { dequantize_as<Code>(call); });
  return {};
}

Status run_power_of_two_scale(const Call& call, int, int64_t) {
  const ConstView& scale = call.in[PowerOfTwoScale::in::scale];
  auto* dst = call.out[PowerOfTwoScale::out::out_].as<float>();
  for (int64_t i = 0; i < scale.size(); ++i) dst[i] = arith::nearest_power_of_two(scale.as<const float>()[i]);
  return {};
}

Status run_power_of_two_scale_grad(const Call& call, int, int64_t) {
  const ConstView& scale = call.in[PowerOfTwoScaleGrad::in::scale];
  const auto* out_grad = call.in[PowerOfTwoScaleGrad::in::out_grad].as<const float>();
  auto* dst = call.out[PowerOfTwoScaleGrad::out::out_].as<float>();
  for (int64_t i = 0; i < scale.size(); ++i) {
    const float s = scale.as<const float>()[i];
    dst[i] = out_grad[i] * arith::nearest_power_of_two(s) / s;
  }
  return {};
}

Plan prepare_raise_weight_scale(const Problem& problem) {
  return {.state = std::make_shared<bool>(RaiseWeightScale(problem.attributes).power_of_two)};
}

Status run_raise_weight_scale(const Call& call, int, int64_t) {
  const bool power_of_two = state_of<bool>(call);
  const ConstView& w_scale = call.in[RaiseWeightScale::in::w_scale];
  const float x_scale = *call.in[RaiseWeightScale::in::x_scale].as<const float>();
  const ConstView& b = call.in[RaiseWeightScale::in::b];
  auto* dst = call.out[RaiseWeightScale::out::out_].as<float>();
  std::copy_n(w_scale.as<const float>(), w_scale.size(), dst);
  for (int64_t i = 0; i < b.size(); ++i) {
    float& scale = dst[w_scale.size() == 1 ? 0 : i];
    scale = arith::raise_scale(scale, b.as<const float>()[i], x_scale, power_of_two);
  }
  return {};
}

}  // namespace

extern const Kernel reference_fake_quantize, reference_fake_quantize_grad, reference_quantize, reference_dequantize;
extern const Kernel reference_fake_quantize{"reference", accept_all, prepare_rule<FakeQuantize>, run_fake_quantize};
static_assert(kHasPortsOfFakeQuantize<FakeQuantizeOffset> && kHasPortsOfFakeQuantize<FakeQuantizeSoft>);
extern const Kernel reference_fake_quantize_offset, reference_fake_quantize_soft;
extern const Kernel reference_fake_quantize_offset{"reference", accept_all, prepare_rule<FakeQuantizeOffset>,
                                                   run_fake_quantize};
extern const Kernel reference_fake_quantize_soft{"reference", accept_all, prepare_rule<FakeQuantizeSoft>,
                                                 run_fake_quantize};
extern const Kernel reference_fake_quantize_grad{"reference", accept_all, prepare_rule<FakeQuantizeGrad>,
                                                 run_fake_quantize_grad};
extern const Kernel reference_quantize{"reference", accept_all, prepare_rule<Quantize>, run_quantize};
extern const Kernel reference_dequantize{"reference", accept_all, prepare_dequantize, run_dequantize};
extern const Kernel reference_power_of_two_scale{"reference", accept_all, prepare_nothing, run_power_of_two_scale};
extern const Kernel reference_power_of_two_scale_grad{"reference", accept_all, prepare_nothing,
                                                      run_power_of_two_scale_grad};
extern const Kernel reference_raise_weight_scale{"reference", accept_all, prepare_raise_weight_scale,
                                                 run_raise_weight_scale};

}  // namespace halfstep::kernels
