#include "halfstep/kernels/torch/code_channels.h"

#include <fmt/format.h>

#include "halfstep/kernels/torch/fake_quantize.h"

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

CodeParameters CodeChannels::parameters(const Call& call, int64_t channel) const {
  if (!per_channel) return fixed;
  return {number_at(call.in[QuantizePerChannel::in::scale], channel),
          number_at(call.in[QuantizePerChannel::in::zero_point], channel)};
}

Status CodeChannels::check(const Call& call) const {
  if (!per_channel || form == CodeForm::float_zero) return {};
  const double low = code_type == DType::u8 ? 0 : code_type == DType::i8 ? -0x1p7 : -0x1p31;
  const double high = code_type == DType::u8 ? 255 : code_type == DType::i8 ? 127 : 0x1p31 - 1;
  for (int64_t c = 0; c < channels.count; ++c) {
    const double zero = parameters(call, c).zero_point;
    if (zero < low || zero > high)
      return Status(
          fmt::format("zero_point {} of channel {} is no {} code, {}..{}", zero, c, name(code_type), low, high));
  }
  return {};
}

}  // namespace halfstep::kernels::torch
