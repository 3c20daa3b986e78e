#include "halfstep/kernels/torch/fake_quantize.h"

#include <fmt/format.h>

namespace halfstep::kernels::torch {
namespace {

Parameters fixed_parameters(const FakeQuantizer& quantizer, const Call&, int64_t) { return quantizer.fixed; }

/// Scale and zero point as they are. Both are operands of the same position in all operators that have them.
Parameters stored_parameters(const FakeQuantizer&, const Call& call, int64_t channel) {
  using In = FakeQuantizePerChannelAffine::in;
  return Parameters::of(static_cast<float>(number_at(call.in[In::scale], channel)),
                        static_cast<float>(number_at(call.in[In::zero_point], channel)));
}

Parameters cut_parameters(const FakeQuantizer& quantizer, const Call& call, int64_t channel) {
  Parameters parameters = stored_parameters(quantizer, call, channel);
  parameters.zero_point = std::trunc(parameters.zero_point) + 0.0F;
  return parameters;
}

Parameters nearest_parameters(const FakeQuantizer& quantizer, const Call& call, int64_t channel) {
  Parameters parameters = stored_parameters(quantizer, call, channel);
  parameters.zero_point = nearest_zero_point(parameters.zero_point, quantizer.grid);
  return parameters;
}

Status check_zero_points(const FakeQuantizer& quantizer, const Call& call) {
  const ConstView& zero_points = call.in[FakeQuantizePerChannelAffine::in::zero_point];
  for (int64_t c = 0; c < zero_points.size(); ++c) {
    const double zero = number_at(zero_points, c);
    if (zero < quantizer.grid.low || zero > quantizer.grid.high)
      return Status(fmt::format("zero_point {} of channel {} lies outside quant_min..quant_max, {}..{}", zero, c,
                                quantizer.grid.low, quantizer.grid.high));
  }
  return {};
}

Status check_learned_zero_points(const FakeQuantizer&, const Call& call) {
  const ConstView& zero_points = call.in[FakeQuantizePerChannelAffine::in::zero_point];
  for (int64_t c = 0; c < zero_points.size(); ++c) {
    if (std::isnan(zero_points.as<const float>()[c]))
      return Status(fmt::format("zero_point {} is NaN, expected a number", c));
  }
  return {};
}

template <class Op>
FakeQuantizer base_of(const Problem& problem, int64_t axis) {
  const Op attributes(problem.attributes);
  FakeQuantizer quantizer;
  quantizer.grid = {static_cast<float>(attributes.quant_min), static_cast<float>(attributes.quant_max)};
  quantizer.channels = Channels::of(problem.in[Op::in::x]->dims, axis);
  quantizer.dtype = problem.in[Op::in::x]->dtype;
  quantizer.x = Op::in::x;
  if constexpr (requires { Op::in::out_grad; }) quantizer.out_grad = Op::in::out_grad;
  return quantizer;
}

template <class Op>
FakeQuantizer fixed_quantizer(const Problem& problem) {
  const Op attributes(problem.attributes);
  FakeQuantizer quantizer = base_of<Op>(problem, -1);
  quantizer.fixed = Parameters::of(static_cast<float>(attributes.scale), static_cast<float>(attributes.zero_point));
  quantizer.parameters = fixed_parameters;
  return quantizer;
}

template <class Op>
FakeQuantizer tensor_quantizer(const Problem& problem) {
  FakeQuantizer quantizer = base_of<Op>(problem, -1);
  quantizer.parameters = cut_parameters;
  return quantizer;
}

template <class Op>
FakeQuantizer channel_quantizer(const Problem& problem) {
  FakeQuantizer quantizer = base_of<Op>(problem, Op(problem.attributes).axis);
  const bool whole = problem.in[Op::in::zero_point]->dtype == DType::i32;
  quantizer.rule = whole ? RuleKind::channel : RuleKind::float_zero;
  quantizer.parameters = stored_parameters;
  if (whole) quantizer.check = check_zero_points;
  return quantizer;
}

}  // namespace

static_assert(FakeQuantizePerChannelAffine::in::scale == FakeQuantizePerTensorAffineTensorQparams::in::scale &&
              FakeQuantizePerChannelAffine::in::scale == FakeQuantizeLearnablePerChannelAffine::in::scale &&
              FakeQuantizePerChannelAffine::in::scale == FusedMovingAvgObsFakeQuantGrad::in::scale);
static_assert(FakeQuantizePerChannelAffine::in::zero_point ==
                  FakeQuantizePerTensorAffineTensorQparams::in::zero_point &&
              FakeQuantizePerChannelAffine::in::zero_point == FakeQuantizeLearnablePerChannelAffine::in::zero_point &&
              FakeQuantizePerChannelAffine::in::zero_point == FusedMovingAvgObsFakeQuantGrad::in::zero_point);

double number_at(const ConstView& view, int64_t index) {
  switch (view.dtype) {
    case DType::f64: return view.as<const double>()[index];
    case DType::f16: return static_cast<float>(view.as<const Half>()[index]);
    case DType::i32: return view.as<const int32_t>()[index];
    case DType::i64: return static_cast<double>(view.as<const int64_t>()[index]);
    default: break;
  }
  HS_CHECK(view.dtype == DType::f32);
  return view.as<const float>()[index];
}

template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizePerTensorAffine>(const Problem& problem) {
  return fixed_quantizer<FakeQuantizePerTensorAffine>(problem);
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizePerTensorAffineGrad>(const Problem& problem) {
  return fixed_quantizer<FakeQuantizePerTensorAffineGrad>(problem);
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizePerTensorAffineTensorQparams>(const Problem& problem) {
  return tensor_quantizer<FakeQuantizePerTensorAffineTensorQparams>(problem);
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizePerTensorAffineTensorQparamsGrad>(const Problem& problem) {
  return tensor_quantizer<FakeQuantizePerTensorAffineTensorQparamsGrad>(problem);
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizePerChannelAffine>(const Problem& problem) {
  return channel_quantizer<FakeQuantizePerChannelAffine>(problem);
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizePerChannelAffineGrad>(const Problem& problem) {
  return channel_quantizer<FakeQuantizePerChannelAffineGrad>(problem);
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizeLearnablePerTensorAffine>(const Problem& problem) {
  FakeQuantizer quantizer = base_of<FakeQuantizeLearnablePerTensorAffine>(problem, -1);
  quantizer.parameters = nearest_parameters;
  quantizer.check = check_learned_zero_points;
  return quantizer;
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizeLearnablePerChannelAffine>(const Problem& problem) {
  using Op = FakeQuantizeLearnablePerChannelAffine;
  FakeQuantizer quantizer = base_of<Op>(problem, Op(problem.attributes).axis);
  quantizer.rule = RuleKind::channel;
  quantizer.parameters = nearest_parameters;
  quantizer.check = check_learned_zero_points;
  return quantizer;
}
template <>
FakeQuantizer FakeQuantizer::of<FusedMovingAvgObsFakeQuantGrad>(const Problem& problem) {
  using Op = FusedMovingAvgObsFakeQuantGrad;
  const Op attributes(problem.attributes);
  FakeQuantizer quantizer = base_of<Op>(problem, attributes.per_row_fake_quant ? attributes.ch_axis : -1);
  quantizer.rule = attributes.per_row_fake_quant ? RuleKind::channel : RuleKind::tensor;
  quantizer.copies = !attributes.fake_quant_on;
  quantizer.parameters = stored_parameters;
  return quantizer;
}

}  // namespace halfstep::kernels::torch
