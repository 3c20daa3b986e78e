// requantization_parameters: applies the rule of core/arith channel by channel.
#include <memory>

#include "halfstep/core/arith/bias.h"
#include "halfstep/engine/kernels/codes/training/layer_parameters.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

using Op = RequantizationParameters;

Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<RequantizeRule>(requantize_rule(Op(problem.attributes)))};
}

Status run(const Call& call, int, int64_t) {
  const auto& rule = state_of<RequantizeRule>(call);
  const float x_scale = *call.in[Op::in::x_scale].as<const float>();
  const float y_scale = *call.in[Op::in::y_scale].as<const float>();
  const ConstView& w_scales = call.in[Op::in::w_scale];
  const auto* w_scale = w_scales.as<const float>();
  const ConstView& b = call.in[Op::in::b];
  for (int64_t c = 0; c < call.out[Op::out::b_codes].size(); ++c) {
    const float scale = w_scale[w_scales.size() == 1 ? 0 : c];
    const float bias = b.present() ? b.as<const float>()[c] : 0.0F;
    call.out[Op::out::b_codes].as<int32_t>()[c] = arith::bias_code(bias, x_scale, scale);
    call.out[Op::out::bias].as<float>()[c] = bias;
  }
  for (int64_t c = 0; c < w_scales.size(); ++c) {
    arith::Requantizer requantizer;
    Status status = rule.for_layer({x_scale, w_scale[c], y_scale}, requantizer);
    if (!status.ok()) return of_channel(status, c);
    const auto* scale = std::get_if<arith::FixedScale>(&requantizer);
    const auto stored = [&](arith::Multiplier factor) { return arith::to_stored(rule.form, factor); };
    const arith::FixedScale shown =
        scale ? arith::FixedScale{stored(scale->positive), stored(scale->negative)} : arith::FixedScale{};
    call.out[Op::out::weight_scale].as<float>()[c] = w_scale[c];
    call.out[Op::out::multiplier].as<int32_t>()[c] = shown.positive.m;
    call.out[Op::out::shift].as<int32_t>()[c] = shown.positive.shift;
    call.out[Op::out::negative_multiplier].as<int32_t>()[c] = shown.negative.m;
    call.out[Op::out::negative_shift].as<int32_t>()[c] = shown.negative.shift;
  }
  return {};
}

}  // namespace

extern const Kernel reference_requantization_parameters{"reference", accept_all, prepare, run};

}  // namespace halfstep::kernels
