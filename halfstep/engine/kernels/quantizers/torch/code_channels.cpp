#include "halfstep/engine/kernels/quantizers/torch/code_channels.h"

#include <fmt/format.h>

#include "halfstep/engine/kernels/quantizers/torch/fake_quantize.h"

namespace halfstep::kernels::torch {
namespace {

template <class Op>
CodeChannels of_tensor(const Problem& problem, DType code_type, bool wraps) {
  const Op attributes(problem.attributes);
  CodeChannels codes;
  codes.form = wraps ? CodeForm::wrapping : CodeForm::saturating;
  codes.code_type = code_type;
  codes.channels = Channels::of(problem.in[0]->dims, -1);
  codes.fixed = {attributes.scale, static_cast<double>(attributes.zero_point)};
  return codes;
}

template <class Op>
CodeChannels of_channels(const Problem& problem, DType code_type) {
  CodeChannels codes;
  codes.form = problem.in[Op::in::zero_point]->dtype == DType::f32 ? CodeForm::float_zero : CodeForm::saturating;
  codes.code_type = code_type;
  codes.channels = Channels::of(problem.in[0]->dims, Op(problem.attributes).axis);
  codes.per_channel = true;
  return codes;
}

}  // namespace

static_assert(QuantizePerChannel::in::scale == DequantizePerChannel::in::scale &&
              QuantizePerChannel::in::zero_point == DequantizePerChannel::in::zero_point);

template <>
CodeChannels CodeChannels::of<QuantizePerTensor>(const Problem& problem) {
  const DType code_type = problem.out[0]->dtype;
  CodeChannels codes = of_tensor<QuantizePerTensor>(problem, code_type, code_type != DType::i32);
  codes.float_type = problem.in[0]->dtype;
  return codes;
}
template <>
CodeChannels CodeChannels::of<QuantizePerChannel>(const Problem& problem) {
  CodeChannels codes = of_channels<QuantizePerChannel>(problem, problem.out[0]->dtype);
  codes.float_type = problem.in[0]->dtype;
  return codes;
}
template <>
CodeChannels CodeChannels::of<DequantizePerTensor>(const Problem& problem) {
  return of_tensor<DequantizePerTensor>(problem, problem.in[0]->dtype, true);
}
template <>
CodeChannels CodeChannels::of<DequantizePerChannel>(const Problem& problem) {
  return of_channels<DequantizePerChannel>(problem, problem.in[0]->dtype);
}

CodeParameterSource CodeChannels::parameters(const Call& call) const {
  CodeParameterSource source;
  source.per_channel = per_channel;
  source.fixed = fixed;
  if (!per_channel) return source;
  source.scale = Numbers(call.in[QuantizePerChannel::in::scale]);
  source.zero_point = Numbers(call.in[QuantizePerChannel::in::zero_point]);
  source.bounded = form != CodeForm::float_zero;
  source.low = code_type == DType::u8 ? 0 : code_type == DType::i8 ? -0x1p7 : -0x1p31;
  source.high = code_type == DType::u8 ? 255 : code_type == DType::i8 ? 127 : 0x1p31 - 1;
  return source;
}

Status CodeChannels::check(const Call& call) const {
  const CodeParameterSource source = parameters(call);
  if (!source.checks()) return {};
  for (int64_t c = 0; c < channels.count; ++c) {
    if (!source.is_legal_at(c)) return refused(source, c, source.zero_point.at<double>(c));
  }
  return {};
}

Status CodeChannels::refused(const CodeParameterSource& source, int64_t channel, double zero) const {
  return Status(
      errors::zero_point_out_of_range(fmt::format("channel {}", channel), zero,
                                      fmt::format("a {} code, {} to {}", name(code_type), source.low, source.high)));
}

}  // namespace halfstep::kernels::torch
