#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_layer.h"

#include <fmt/format.h>

#include <utility>

namespace halfstep::kernels::integer {
namespace {

template <class A, class B>
constexpr bool kSamePorts =
    A::in::x == B::in::x&& A::in::w == B::in::w&& A::in::b == B::in::b&& A::in::shift ==
    B::in::shift&& A::in::multiplier == B::in::multiplier&& A::in::negative_shift ==
    B::in::negative_shift&& A::in::negative_multiplier == B::in::negative_multiplier&& A::in::w_scale == B::in::w_scale;
static_assert(kSamePorts<IntegerLinear, IntegerConv2d>);

template <class Typed>
void read_attributes(const Problem& problem, NhwcLayer& layer) {
  const Typed attributes(problem.attributes);
  layer.x_type = problem.in[Typed::in::x]->dtype;
  layer.out_type = problem.out[0]->dtype;
  layer.wide_in = is_wide(layer.x_type);
  layer.wide_out = is_wide(layer.out_type);
  layer.x_zero_point = static_cast<int32_t>(attributes.x_zero_point);
  layer.range = range_of(attributes, layer.out_type);
  layer.form = step_form(attributes, problem.in[Typed::in::w]->dims);
  layer.step_count = problem.in[static_cast<size_t>(step_port(layer.form.form))]->dims[0];
}

}  // namespace

NhwcLayer::NhwcLayer(const Problem& problem) {
  using Op = IntegerConv2d;
  const Dims &x = problem.in[Op::in::x]->dims, &w = problem.in[Op::in::w]->dims;
  if (w.size() == 2) {
    geometry = product_geometry(x, w);
    read_attributes<IntegerLinear>(problem, *this);
    return;
  }
  geometry = conv_geometry(Op(problem.attributes), x, w, problem.out[0]->dims, true);
  read_attributes<Op>(problem, *this);
}

Verdict accept_zero_point(int64_t zero_point, DType out) {
  const bool is_code = with_codes(out, [&]<class Code>() { return std::in_range<Code>(zero_point); });
  return is_code ? accept()
                 : refuse(errors::kernel_is_for_other_zero_points(
                       zero_point, fmt::format("a code of {}, the type of out", name(out))));
}

Verdict accept_layer(const Problem& problem) {
  const bool is_product = problem.in[IntegerConv2d::in::w]->dims.size() == 2;
  if (Verdict verdict = channels_last::accept_channels_last(problem); !is_product && !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  return accept_zero_point(get<int64_t>(problem.attributes, "y_zero_point"), problem.out[0]->dtype);
}

void set_lane(const NhwcLayer& layer, const NhwcParameters& from, int64_t o, LaneSteps& steps, int64_t lane) {
  const int64_t filter = layer.geometry.filter();
  const int8_t* weights = from.weights + o * filter;
  uint32_t sum = 0;
  for (int64_t i = 0; i < filter; ++i) sum += static_cast<uint32_t>(int32_t{weights[i]});
  const auto offset = static_cast<uint32_t>(layer.offset() - layer.x_zero_point);
  const uint32_t bias = from.bias == nullptr ? 0 : static_cast<uint32_t>(from.bias[o]);
  steps.set(lane, static_cast<int32_t>(bias + offset * sum), from.steps.requantizer(o));
}

}  // namespace halfstep::kernels::integer
