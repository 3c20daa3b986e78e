// Elementwise operators and the pool of the integer program as docs/arithmetic.md, section 4, states them.
#include <algorithm>
#include <memory>

#include "halfstep/kernels/broadcast.h"
#include "halfstep/kernels/codes.h"
#include "halfstep/kernels/integer/average.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/quantize/channels.h"

namespace halfstep::kernels {
namespace {

/// Pieces of elements.
template <class Typed>
Plan prepare_elements(const Problem& problem) {
  return {.state = std::make_shared<Typed>(problem.attributes),
          .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

/// dst[i] = code(i) for the elements of a piece; code returns int32_t.
template <class CodeAt>
void fill_piece(const View& out, int64_t piece, CodeAt&& code_at) {
  visit_codes(out, [&]<class Code>(Code* dst) {
    const int64_t end = std::min(out.size(), (piece + 1) * kPieceElements);
    for (int64_t i = piece * kPieceElements; i < end; ++i) dst[i] = static_cast<Code>(code_at(i));
  });
}

arith::Requantizer requantizer_of(const IntegerMul& a) {
  const auto form = form_of(a);
  if (!arith::traits(form).keeps_scales) return stored_scale(a.multiplier, a.shift, shift_rounding(a));
  return arith::float_product(form, float_of(a.a_scale), float_of(a.b_scale), float_of(a.y_scale));
}

/// The accumulator has 64 bits; conversion proves that the form takes it.
template <class Typed>
int32_t requantized(const Typed& a, const arith::Requantizer& requantizer, int64_t acc) {
  return clamp_of(a).apply(arith::requantize(requantizer, acc, static_cast<int32_t>(a.y_zero_point)));
}

Status run_add(const Call& call, int, int64_t piece) {
  const auto& t = state_of<IntegerAdd>(call);
  std::visit(
      [&](const auto& sum) {
        const CodeReader a(call.in[IntegerAdd::in::a]), b(call.in[IntegerAdd::in::b]);
        fill_piece(call.out[IntegerAdd::out::out_], piece,
                   [&](int64_t i) { return clamp_of(t).apply(sum.code(a[i], b[i])); });
      },
      stored_sum(t));
  return {};
}

Status run_mul(const Call& call, int, int64_t piece) {
  const auto& t = state_of<IntegerMul>(call);
  const arith::Requantizer requantizer = requantizer_of(t);
  const View& out = call.out[IntegerMul::out::out_];
  const ConstView& a_view = call.in[IntegerMul::in::a];
  const ConstView& b_view = call.in[IntegerMul::in::b];
  const CodeReader a(a_view), b(b_view);
  fill_piece(out, piece, [&](int64_t i) {
    const int64_t a_steps = a[broadcast_index(a_view.dims, out.dims, i)] - t.a_zero_point;
    const int64_t b_steps = b[broadcast_index(b_view.dims, out.dims, i)] - t.b_zero_point;
    return requantized(t, requantizer, a_steps * b_steps);
  });
  return {};
}

void run_float_avg_pool2d(const Call& call, const IntegerAvgPool2d& t, int64_t piece) {
  const View& out = call.out[IntegerAvgPool2d::out::out_];
  const auto x = call.in[IntegerAvgPool2d::in::x].dims;
  const FloatMean mean{float_of(t.x_scale), float_of(t.y_scale), static_cast<int32_t>(t.x_zero_point),
                       static_cast<int32_t>(t.y_zero_point)};
  visit_codes(call.in[IntegerAvgPool2d::in::x], [&](const auto* src) {
    fill_piece(out, piece, [&](int64_t i) { return clamp_of(t).apply(mean.code(mean.of(t, src, x, out.dims, i))); });
  });
}

template <class Typed>
struct AverageState {
  Typed attributes;
  AverageSteps steps;
};

/// Extents of an image, or of the windows over it.
struct PlaneExtents {
  int64_t height, width;
  template <class Typed>
  static PlaneExtents of(std::span<const int64_t> dims) {
    if (std::is_same_v<Typed, ChannelsLastIntegerAvgPool2d>) return {dims[1], dims[2]};
    return {dims[2], dims[3]};
  }
};

template <class Typed>
Verdict accept_average(const Problem& problem) {
  const auto x = PlaneExtents::of<Typed>(problem.in[Typed::in::x]->dims);
  const auto out = PlaneExtents::of<Typed>(problem.out[Typed::out::out_]->dims);
  return accept_windows(Typed(problem.attributes), x.height, x.width, out.height, out.width);
}

template <class Typed>
Plan prepare_average(const Problem& problem) {
  const Typed a(problem.attributes);
  const auto x = PlaneExtents::of<Typed>(problem.in[Typed::in::x]->dims);
  const auto out = PlaneExtents::of<Typed>(problem.out[Typed::out::out_]->dims);
  const auto divisors = window_divisors(a, x.height, x.width, out.height, out.width);
  return {.state = std::make_shared<AverageState<Typed>>(AverageState<Typed>{a, average_steps(a, divisors)}),
          .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_avg_pool2d(const Call& call, int, int64_t piece) {
  const auto& [t, steps] = state_of<AverageState<IntegerAvgPool2d>>(call);
  const View& out = call.out[IntegerAvgPool2d::out::out_];
  const auto x = call.in[IntegerAvgPool2d::in::x].dims;
  if (arith::traits(form_of(t)).adds_reals && !covers_image(t, x)) {
    run_float_avg_pool2d(call, t, piece);
    return {};
  }
  visit_codes(call.in[IntegerAvgPool2d::in::x], [&, &t = t, &steps = steps](const auto* src) {
    fill_piece(out, piece, [&](int64_t i) {
      int64_t acc = 0;
      const auto window = visit_window(t, x, out.dims, i, [&](int64_t k) { acc += src[k] - t.x_zero_point; });
      return requantized(t, steps.at(window.divisor(t)), acc);
    });
  });
  return {};
}

/// The average pool of images [n, h, w, c].
Status run_last_avg_pool2d(const Call& call, int, int64_t piece) {
  using Typed = ChannelsLastIntegerAvgPool2d;
  const auto& [t, steps] = state_of<AverageState<Typed>>(call);
  const View& out = call.out[Typed::out::out_];
  const auto x = call.in[Typed::in::x].dims;
  const int64_t columns = out.dims[2], channels = out.dims[3];
  visit_codes(call.in[Typed::in::x], [&, &t = t, &steps = steps](const auto* src) {
    fill_piece(out, piece, [&](int64_t i) {
      const int64_t pixel = i / channels % (out.dims[1] * columns);
      const auto window = AverageWindow::of(t, x[1], x[2], pixel / columns, pixel % columns);
      const auto* image = src + i / (out.dims[1] * columns * channels) * x[1] * x[2] * channels + i % channels;
      int64_t acc = 0;
      window.visit([&](int64_t iy, int64_t ix) { acc += image[(iy * x[2] + ix) * channels] - t.x_zero_point; });
      return requantized(t, steps.at(window.divisor(t)), acc);
    });
  });
  return {};
}

Status run_lookup(const Call& call, int, int64_t piece) {
  const ConstView& table = call.in[IntegerLookup::in::table];
  const int64_t first = state_of<IntegerLookup>(call).x_code_min, last = table.size() - 1;
  const CodeReader codes(call.in[IntegerLookup::in::x]), entries(table);
  fill_piece(call.out[IntegerLookup::out::out_], piece,
             [&](int64_t i) { return entries[std::clamp<int64_t>(codes[i] - first, 0, last)]; });
  return {};
}

Status run_rescale(const Call& call, int, int64_t piece) {
  const auto& t = state_of<IntegerRescale>(call);
  const arith::Requantizer requantizer = stored_scale(t.multiplier, t.shift, shift_rounding(t));
  visit_codes(call.in[IntegerRescale::in::x], [&](const auto* src) {
    fill_piece(call.out[IntegerRescale::out::out_], piece,
               [&](int64_t i) { return requantized(t, requantizer, src[i] - t.x_zero_point); });
  });
  return {};
}

}  // namespace

const Kernel reference_integer_add = {"reference", accept_all, prepare_elements<IntegerAdd>, run_add};
const Kernel reference_integer_mul = {"reference", accept_all, prepare_elements<IntegerMul>, run_mul};
const Kernel reference_integer_avg_pool2d = {"reference", accept_average<IntegerAvgPool2d>,
                                             prepare_average<IntegerAvgPool2d>, run_avg_pool2d};
const Kernel reference_channels_last_integer_avg_pool2d = {"reference", accept_average<ChannelsLastIntegerAvgPool2d>,
                                                           prepare_average<ChannelsLastIntegerAvgPool2d>,
                                                           run_last_avg_pool2d};
const Kernel reference_integer_lookup = {"reference", accept_all, prepare_elements<IntegerLookup>, run_lookup};
const Kernel reference_integer_rescale = {"reference", accept_all, prepare_elements<IntegerRescale>, run_rescale};

}  // namespace halfstep::kernels
