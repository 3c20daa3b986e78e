#include "halfstep/kernels/integer/cpu/nhwc_layer.h"

namespace halfstep::kernels::integer {
namespace {

template <class A, class B>
constexpr bool kSamePorts =
    A::in::x == B::in::x&& A::in::w == B::in::w&& A::in::b == B::in::b&& A::in::shift ==
    B::in::shift&& A::in::multiplier == B::in::multiplier&& A::in::negative_shift ==
    B::in::negative_shift&& A::in::negative_multiplier == B::in::negative_multiplier&& A::in::w_scale == B::in::w_scale;
static_assert(kSamePorts<ChannelsLastIntegerConv2d, IntegerConv2d> && kSamePorts<IntegerLinear, IntegerConv2d>);

template <class Typed>
void read_attributes(const Problem& problem, NhwcLayer& layer) {
  const Typed attributes(problem.attributes);
  layer.wide_in = problem.in[Typed::in::x]->dtype == DType::u16;
  layer.wide_out = problem.out[0]->dtype == DType::u16;
  layer.x_zero_point = static_cast<int32_t>(attributes.x_zero_point);
  layer.range = {static_cast<int32_t>(attributes.y_zero_point), clamp_of(attributes)};
  layer.form = step_form(attributes, problem.in[Typed::in::w]->dims);
  layer.step_count = problem.in[static_cast<size_t>(step_port(layer.form.form))]->dims[0];
}

ConvGeometry product_geometry(const Dims& x, const Dims& w) {
  return {.n = 1,
          .c = x[1],
          .h = 1,
          .w = x[0],
          .o = w[0],
          .oh = 1,
          .ow = x[0],
          .groups = 1,
          .kh = 1,
          .kw = 1,
          .stride = {1, 1},
          .dilation = {1, 1},
          .pad = {}};
}

}  // namespace

NhwcLayer::NhwcLayer(const Problem& problem) {
  using Op = ChannelsLastIntegerConv2d;
  const Dims &x = problem.in[Op::in::x]->dims, &w = problem.in[Op::in::w]->dims;
  if (w.size() == 2) {
    geometry = product_geometry(x, w);
    read_attributes<IntegerLinear>(problem, *this);
    return;
  }
  geometry = conv_geometry(Op(problem.attributes), channels_last::channels_first(x), w,
                           channels_last::channels_first(problem.out[0]->dims));
  read_attributes<Op>(problem, *this);
}

Verdict accept_layer(const Problem& problem) {
  using Op = ChannelsLastIntegerConv2d;
  for (const Type* type : {problem.in[Op::in::x], problem.out[0]}) {
    if (is_signed(type->dtype)) return refuse("its codes are unsigned, found {}", name(type->dtype));
  }
  if (get<std::string>(problem.attributes, "shift_rounding") != "half_up") return refuse("its shifts round half up");
  return accept_filled(problem);
}

void set_lane(const NhwcLayer& layer, const NhwcParameters& from, int64_t o, LaneSteps& steps, int64_t lane) {
  const int64_t filter = layer.geometry.filter();
  const int8_t* weights = from.weights + o * filter;
  uint32_t sum = 0;
  for (int64_t i = 0; i < filter; ++i) sum += static_cast<uint32_t>(int32_t{weights[i]});
  const auto offset = static_cast<uint32_t>((layer.wide_in ? kWideOffset : 0) - layer.x_zero_point);
  const uint32_t bias = from.bias == nullptr ? 0 : static_cast<uint32_t>(from.bias[o]);
  steps.set(lane, static_cast<int32_t>(bias + offset * sum), from.steps.requantizer(o));
}

}  // namespace halfstep::kernels::integer
