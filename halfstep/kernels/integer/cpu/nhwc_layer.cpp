#include "halfstep/kernels/integer/cpu/nhwc_layer.h"

#include <algorithm>

namespace halfstep::kernels::integer {

using Op = ChannelsLastIntegerConv2d;
static_assert(Op::in::x == IntegerConv2d::in::x && Op::in::w == IntegerConv2d::in::w &&
              Op::in::b == IntegerConv2d::in::b && Op::in::shift == IntegerConv2d::in::shift &&
              Op::in::multiplier == IntegerConv2d::in::multiplier &&
              Op::in::negative_shift == IntegerConv2d::in::negative_shift &&
              Op::in::negative_multiplier == IntegerConv2d::in::negative_multiplier &&
              Op::in::w_scale == IntegerConv2d::in::w_scale);

NhwcLayer::NhwcLayer(const Problem& problem) {
  const Op attributes(problem.attributes);
  geometry = conv_geometry(attributes, channels_last::channels_first(problem.in[Op::in::x]->dims),
                           problem.in[Op::in::w]->dims, channels_last::channels_first(problem.out[0]->dims));
  x_zero_point = static_cast<int32_t>(attributes.x_zero_point);
  range = {static_cast<int32_t>(attributes.y_zero_point), clamp_of(attributes)};
  form = step_form(attributes, problem.in[Op::in::w]->dims);
  step_count = problem.in[static_cast<size_t>(step_port(form.form))]->dims[0];
}

void set_lane(const NhwcLayer& layer, const NhwcParameters& from, int64_t o, LaneSteps& steps, int64_t lane) {
  const int64_t filter = layer.geometry.filter();
  const int8_t* weights = from.weights + o * filter;
  uint32_t sum = 0;
  for (int64_t i = 0; i < filter; ++i) sum += static_cast<uint32_t>(int32_t{weights[i]});
  const uint32_t bias = static_cast<uint32_t>(from.bias[o]) - static_cast<uint32_t>(layer.x_zero_point) * sum;
  steps.set(lane, static_cast<int32_t>(bias), from.steps.requantizer(o));
}

void Padded::copy(const uint8_t* image, int64_t first, int64_t out_lines, uint8_t* to) const {
  const int64_t left = g.pad[1] * g.c, right = g.pad[3] * g.c, inside = g.w * g.c;
  const int64_t top = first * g.stride[0] - g.pad[0];
  for (int64_t y = top; y < top + lines(out_lines); ++y, to += line_bytes()) {
    if (y < 0 || y >= g.h) {
      std::fill_n(to, line_bytes(), zero_point);
      continue;
    }
    std::fill_n(to, left, zero_point);
    std::copy_n(image + y * inside, inside, to + left);
    std::fill_n(to + left + inside, right, zero_point);
  }
}

Verdict accept_bytes(const Problem& problem) {
  if (problem.level < CpuLevel::vnni) return refuse("{} has no VNNI", name(problem.level));
  for (const Type* type : {problem.in[Op::in::x], problem.out[0]}) {
    if (type->dtype != DType::u8) return refuse("VNNI multiplies u8 codes, found {}", name(type->dtype));
  }
  const Op attributes(problem.attributes);
  if (shift_rounding(attributes) != arith::ShiftRounding::half_up) return refuse("its shifts round half up");
  const int64_t zero_point = attributes.y_zero_point;
  if (zero_point > 255) return refuse("the zero point of out is {}, more than a byte holds", zero_point);
  return accept_filled(problem);
}

}  // namespace halfstep::kernels::integer
