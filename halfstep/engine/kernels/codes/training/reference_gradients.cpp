// Reference kernels of the backward passes of requantizations, and of the float values of weights and accumulators
// (docs/arithmetic.md, section 5).
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/training/backward_rule.h"
#include "halfstep/engine/kernels/codes/training/layer_parameters.h"
#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

Plan prepare_nothing(const Problem&) { return {}; }

template <class Typed>
Plan prepare_rule(const Problem& problem) {
  return {.state = std::make_shared<RuleState<Typed>>(problem.attributes)};
}

/// Sum of term(i), chunk by chunk.
template <class Term>
double sum_of_chunks(int64_t size, Term&& term) {
  double sum = 0.0;
  for (int64_t begin = 0; begin < size; begin += kPieceElements) {
    double chunk = 0.0;
    for (int64_t i = begin; i < std::min(size, begin + kPieceElements); ++i) chunk += term(i);
    sum += chunk;
  }
  return sum;
}

/// A gradient scale of 0 marks a fixed scale. The gradient is then 0 for any sum.
float scaled(double gradient_scale, double sum) {
  return gradient_scale == 0.0 ? 0.0F : static_cast<float>(gradient_scale * sum);
}

Status run_requantize_grad(const Call& call, int, int64_t) {
  using In = RequantizeGrad::in;
  const auto& state = state_of<RuleState<RequantizeGrad>>(call);
  const ConstView& acc = call.in[In::acc];
  const ConstView& w_scale = call.in[In::w_scale];
  const auto* out_grad = call.in[In::out_grad].as<const float>();
  auto* acc_grad = call.out[RequantizeGrad::out::acc_grad].as<float>();
  const float x_scale = *call.in[In::x_scale].as<const float>();
  const float y_scale = *call.in[In::y_scale].as<const float>();
  const BackwardRule backward(state.rule, y_scale, *call.in[In::y_zero_point].as<const int32_t>());
  const bool leaky = state.rule.activation == arith::Activation::leaky_relu;
  const Channels channels = Channels::of(acc.dims, 1);
  Status status;
  int64_t derived = -1;  // the channel of factor and requantizer
  double factor = 0.0;
  arith::Requantizer requantizer;
  const double sum = sum_of_chunks(acc.size(), [&](int64_t i) {
    const int64_t channel = i / channels.run % channels.count;
    if (channel != derived && status.ok()) {
      const float w = w_scale.as<const float>()[w_scale.size() == 1 ? 0 : channel];
      factor = arith::product_factor(state.rule.form, x_scale, w, y_scale);
      status = of_channel(state.rule.backward().for_layer({x_scale, w, y_scale}, requantizer), channel);
      derived = channel;
    }
    if (!status.ok()) return 0.0;
    const int32_t codes = acc.as<const int32_t>()[i];
    const double slope = leaky && codes < 0 ? state.rule.alpha : 1.0;
    const int64_t code = arith::requantize(requantizer, codes, backward.zero_point);
    acc_grad[i] = backward.clamp.holds(code) ? out_grad[i] * static_cast<float>(slope) : 0.0F;
    return static_cast<double>(out_grad[i]) * backward.scale_slope(code, codes * factor * slope);
  });
  *call.out[RequantizeGrad::out::scale_grad].as<float>() = scaled(state.attributes.gradient_scale, sum);
  return status;
}

Status run_clamp_grad(const Call& call, int, int64_t) {
  using In = ClampGrad::in;
  const auto& state = state_of<RuleState<ClampGrad>>(call);
  const auto* out_grad = call.in[In::out_grad].as<const float>();
  const auto* unclamped = call.in[In::unclamped].as<const int32_t>();
  const auto* real = call.in[In::real].as<const float>();
  auto* value_grad = call.out[ClampGrad::out::value_grad].as<float>();
  const float y_scale = *call.in[In::y_scale].as<const float>();
  const BackwardRule backward(state.rule, y_scale, *call.in[In::y_zero_point].as<const int32_t>());
  const double sum = sum_of_chunks(call.in[In::out_grad].size(), [&](int64_t i) {
    const double r = static_cast<double>(real[i]) / static_cast<double>(y_scale);
    value_grad[i] = backward.clamp.holds(unclamped[i]) ? out_grad[i] : 0.0F;
    return static_cast<double>(out_grad[i]) * backward.scale_slope(unclamped[i], r);
  });
  *call.out[ClampGrad::out::scale_grad].as<float>() = scaled(state.attributes.gradient_scale, sum);
  return {};
}

Status run_dequantize_weight(const Call& call, int, int64_t) {
  using In = DequantizeWeight::in;
  const ConstView& w = call.in[In::w];
  const ConstView& scale = call.in[In::scale];
  const Channels channels = Channels::of(w.dims, 0);
  auto* dst = call.out[DequantizeWeight::out::out_].as<float>();
  for (int64_t i = 0; i < w.size(); ++i)
    dst[i] =
        static_cast<float>(w.as<const int8_t>()[i]) * scale.as<const float>()[scale.size() == 1 ? 0 : i / channels.run];
  return {};
}

Status run_dequantize_accumulator(const Call& call, int, int64_t) {
  using In = DequantizeAccumulator::in;
  const auto& activation = state_of<Activation>(call);
  const ConstView& acc = call.in[In::acc];
  const ConstView& w_scale = call.in[In::w_scale];
  const float x_scale = *call.in[In::x_scale].as<const float>();
  const Channels channels = Channels::of(acc.dims, 1);
  auto* dst = call.out[DequantizeAccumulator::out::out_].as<float>();
  for (int64_t i = 0; i < acc.size(); ++i) {
    const int64_t channel = w_scale.size() == 1 ? 0 : i / channels.run % channels.count;
    dst[i] = static_cast<float>(acc.as<const int32_t>()[i]) * x_scale * w_scale.as<const float>()[channel];
  }
  activation.apply(dst, acc.size());
  return {};
}

Plan prepare_dequantize_accumulator(const Problem& problem) {
  const DequantizeAccumulator attributes(problem.attributes);
  const bool none = attributes.activation == "none";
  return {.state = std::make_shared<Activation>(none ? Activation{}
                                                     : Activation::of(attributes.activation, attributes.alpha))};
}

}  // namespace

extern const Kernel reference_requantize_grad{"reference", accept_all, prepare_rule<RequantizeGrad>,
                                              run_requantize_grad};
extern const Kernel reference_clamp_grad{"reference", accept_all, prepare_rule<ClampGrad>, run_clamp_grad};
extern const Kernel reference_dequantize_weight{"reference", accept_all, prepare_nothing, run_dequantize_weight};
extern const Kernel reference_dequantize_accumulator{"reference", accept_all, prepare_dequantize_accumulator,
                                                     run_dequantize_accumulator};

}  // namespace halfstep::kernels
