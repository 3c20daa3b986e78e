// channels_last_integer_conv2d on codes of a byte: what its kernels share.
#pragma once

#include "halfstep/base/tensor.h"
#include "halfstep/kernels/channels_last/geometry.h"
#include "halfstep/kernels/integer/cpu/lane_steps.h"
#include "halfstep/kernels/integer/step.h"

namespace halfstep::kernels::integer {

struct NhwcLayer {
  explicit NhwcLayer(const Problem& problem);

  ConvGeometry geometry;
  int32_t x_zero_point = 0;
  CodeRange range;
  StepForm form;
  int64_t step_count = 1;

  bool in_float() const { return form.form == arith::Requantization::float32; }
};

/// Operands as the program stores them; data(position) is an operand's contents or null.
struct NhwcParameters {
  const int8_t* weights;
  const int32_t* bias;
  StoredSteps steps;

  template <class Data>
  static NhwcParameters of(const NhwcLayer& layer, Data&& data) {
    using In = ChannelsLastIntegerConv2d::in;
    return {static_cast<const int8_t*>(data(In::w)), static_cast<const int32_t*>(data(In::b)),
            stored_steps(layer.form, layer.step_count, data)};
  }
};

/// Sets a lane for channel `o`: acc = sum code * w - x_zero_point * sum w + b, all modulo 2^32.
void set_lane(const NhwcLayer& layer, const NhwcParameters& from, int64_t o, LaneSteps& steps, int64_t lane);

/// Lines of x that begin one out line after another, with codes of the zero point where the layer pads.
struct Padded {
  const ConvGeometry& g;
  uint8_t zero_point;

  int64_t width() const { return g.w + g.pad[1] + g.pad[3]; }
  int64_t lines(int64_t out_lines) const { return (out_lines - 1) * g.stride[0] + (g.kh - 1) * g.dilation[0] + 1; }
  int64_t line_bytes() const { return width() * g.c; }
  /// Copies what `out_lines` out lines from `first` on read of an image.
  void copy(const uint8_t* image, int64_t first, int64_t out_lines, uint8_t* to) const;
};

/// Accepts images, and layers whose codes are bytes, from VNNI on.
Verdict accept_bytes(const Problem& problem);

/// Parameters that are constant are packed by prepare, others by a first phase of every call.
/// pack(parameters, memory of `bytes`).
template <class Pack>
Status pack_constant(const Problem& problem, const NhwcLayer& layer, int64_t bytes, Tensor& packed, Plan& plan,
                     Pack&& pack) {
  using In = ChannelsLastIntegerConv2d::in;
  for (size_t i = 0; i < problem.in.size(); ++i) {
    if (i == In::x || problem.in[i] == nullptr || problem.constants[i] != nullptr) continue;
    plan.scratch = static_cast<size_t>(bytes);
    plan.phases.insert(plan.phases.begin(), 1);
    return {};
  }
  packed = Tensor(DType::u8, {bytes});
  return pack(NhwcParameters::of(layer, [&](int i) { return problem.constants[i]; }), packed.raw());
}

}  // namespace halfstep::kernels::integer
