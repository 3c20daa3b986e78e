#include "halfstep/engine/kernels/quantizers/torch/fake_quantize.h"

#include <fmt/format.h>

namespace halfstep::kernels::torch {
namespace {

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
  return quantizer;
}

template <class Op>
FakeQuantizer tensor_quantizer(const Problem& problem) {
  FakeQuantizer quantizer = base_of<Op>(problem, -1);
  quantizer.form = ZeroPointForm::cut;
  return quantizer;
}

template <class Op>
FakeQuantizer channel_quantizer(const Problem& problem) {
  FakeQuantizer quantizer = base_of<Op>(problem, Op(problem.attributes).axis);
  const bool whole = problem.in[Op::in::zero_point]->dtype == DType::i32;
  quantizer.rule = whole ? RuleKind::channel : RuleKind::float_zero;
  quantizer.form = ZeroPointForm::stored;
  if (whole) quantizer.legal = ZeroPointRange::codes;
  return quantizer;
}

}  // namespace

// Scale and zero point have equal positions in all operators that take them.
static_assert(FakeQuantizePerChannelAffine::in::scale == FakeQuantizePerTensorAffineTensorQparams::in::scale &&
              FakeQuantizePerChannelAffine::in::scale == FakeQuantizeLearnablePerChannelAffine::in::scale &&
              FakeQuantizePerChannelAffine::in::scale == FusedMovingAvgObsFakeQuantGrad::in::scale);
static_assert(FakeQuantizePerChannelAffine::in::zero_point ==
                  FakeQuantizePerTensorAffineTensorQparams::in::zero_point &&
              FakeQuantizePerChannelAffine::in::zero_point == FakeQuantizeLearnablePerChannelAffine::in::zero_point &&
              FakeQuantizePerChannelAffine::in::zero_point == FusedMovingAvgObsFakeQuantGrad::in::zero_point);

ParameterSource FakeQuantizer::parameters(const Call& call) const {
  using In = FakeQuantizePerChannelAffine::in;
  ParameterSource source;
  source.form = form;
  source.range = legal;
  source.grid = grid;
  source.fixed = fixed;
  if (form == ZeroPointForm::fixed) return source;
  source.scale = Numbers(call.in[In::scale]);
  source.zero_point = Numbers(call.in[In::zero_point]);
  return source;
}

Status FakeQuantizer::check(const Call& call) const {
  if (legal == ZeroPointRange::any) return {};
  const ParameterSource source = parameters(call);
  for (int64_t c = 0; c < channels.count; ++c) {
    if (!source.is_legal_at(c)) return refused(source, c, source.zero_point.at<double>(c));
  }
  return {};
}

Status FakeQuantizer::refused(const ParameterSource& source, int64_t channel, double zero) const {
  if (source.range == ZeroPointRange::numbers)
    return Status(errors::zero_point_out_of_range(fmt::format("channel {}", channel), "NaN", "a number"));
  return Status(errors::zero_point_out_of_range(
      fmt::format("channel {}", channel), zero,
      fmt::format("quant_min to quant_max, {} to {}", source.grid.low, source.grid.high)));
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
  quantizer.form = ZeroPointForm::nearest;
  quantizer.legal = ZeroPointRange::numbers;
  return quantizer;
}
template <>
FakeQuantizer FakeQuantizer::of<FakeQuantizeLearnablePerChannelAffine>(const Problem& problem) {
  using Op = FakeQuantizeLearnablePerChannelAffine;
  FakeQuantizer quantizer = base_of<Op>(problem, Op(problem.attributes).axis);
  quantizer.rule = RuleKind::channel;
  quantizer.form = ZeroPointForm::nearest;
  quantizer.legal = ZeroPointRange::numbers;
  return quantizer;
}
template <>
FakeQuantizer FakeQuantizer::of<FusedMovingAvgObsFakeQuantGrad>(const Problem& problem) {
  using Op = FusedMovingAvgObsFakeQuantGrad;
  const Op attributes(problem.attributes);
  FakeQuantizer quantizer = base_of<Op>(problem, attributes.per_row_fake_quant ? attributes.ch_axis : -1);
  quantizer.rule = attributes.per_row_fake_quant ? RuleKind::channel : RuleKind::tensor;
  quantizer.copies = !attributes.fake_quant_on;
  quantizer.form = ZeroPointForm::stored;
  return quantizer;
}

}  // namespace halfstep::kernels::torch
