// Layers on images whose channels are the last axis, by their definition. Sums are in double, in the order of the
// loops, and rounded once.
#include <memory>

#include "halfstep/base/with_number_type.h"
#include "halfstep/kernels/channels_last/geometry.h"

namespace halfstep::kernels::channels_last {
namespace {

struct ConvState {
  ConvGeometry geometry;
  Activation activation;
};

Plan prepare_conv(const Problem& problem) {
  const ConvGeometry g = conv_geometry_of(problem);
  return {.state = std::make_shared<ConvState>(g, activation_of(problem)), .phases = {g.n * g.oh}};
}

/// Out channel o of pixel (oy, ox), without bias; `src` is the image.
template <class T>
double sum_of_taps(const ConvGeometry& g, const T* src, const T* weights, int64_t oy, int64_t ox, int64_t o) {
  double sum = 0.0;
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    const int64_t y = oy * g.stride[0] - g.pad[0] + tap / g.kw * g.dilation[0];
    const int64_t x = ox * g.stride[1] - g.pad[1] + tap % g.kw * g.dilation[1];
    if (y < 0 || y >= g.h || x < 0 || x >= g.w) continue;
    const T* pixel = src + (y * g.w + x) * g.c + o / g.group_out() * g.group_in();
    for (int64_t i = 0; i < g.group_in(); ++i)
      sum += to_double(pixel[i]) * to_double(weights[o * g.filter() + i * g.taps() + tap]);
  }
  return sum;
}

/// A row of the result.
template <class T>
void conv_row(const ConvState& state, const Call& call, int64_t row) {
  using In = ChannelsLastConv2d::in;
  const ConvGeometry& g = state.geometry;
  const T* src = call.in[In::x].as<const T>() + row / g.oh * g.x_image();
  const T* bias = call.in[In::b].as<const T>();
  const T* residual = call.in[In::residual].as<const T>();
  const int64_t begin = row * g.ow * g.o;
  T* dst = call.out[0].as<T>();
  for (int64_t at = begin; at < begin + g.ow * g.o; ++at) {
    const int64_t o = at % g.o;
    double sum = sum_of_taps(g, src, call.in[In::w].as<const T>(), row % g.oh, (at - begin) / g.o, o);
    if (bias != nullptr) sum += to_double(bias[o]);
    if (residual != nullptr) sum += to_double(residual[at]);
    dst[at] = from_double<T>(sum);
  }
  state.activation.apply(dst + begin, g.ow * g.o);
}

Status run_conv(const Call& call, int, int64_t piece) {
  with_any_float(call.out[0].dtype, [&]<class T>() { conv_row<T>(state_of<ConvState>(call), call, piece); });
  return {};
}

template <class Typed>
Plan prepare_pool(const Problem& problem) {
  const ImagePool pool = pool_of<Typed>(problem);
  return {.state = std::make_shared<ImagePool>(pool), .phases = {pool.geometry.planes * pool.geometry.oh}};
}

/// window(oy, ox, first element of the image and channel) for each element of a row of the result.
template <class T, class Window>
void pool_row(const Call& call, int64_t row, Window&& window) {
  const auto& [g, channels] = state_of<ImagePool>(call);
  const T* image = call.in[0].as<const T>() + row / g.oh * g.plane() * channels;
  T* dst = call.out[0].as<T>() + row * g.ow * channels;
  for (int64_t i = 0; i < g.ow * channels; ++i) dst[i] = window(row % g.oh, i / channels, image + i % channels);
}

/// visit(offset of the pixel) for the pixels of a window, row by row.
template <class Visit>
void for_each_pixel(const ImagePool& pool, int64_t oy, int64_t ox, Visit&& visit) {
  const Span1d rows = pool.geometry.rows(oy), columns = pool.geometry.columns(ox);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) visit((y * pool.geometry.w + x) * pool.channels);
  }
}

Status run_max(const Call& call, int, int64_t piece) {
  const auto& pool = state_of<ImagePool>(call);
  const auto run = [&]<class T>() {
    pool_row<T>(call, piece, [&](int64_t oy, int64_t ox, const T* channel) {
      Wide<T> best = lowest<Wide<T>>();
      for_each_pixel(pool, oy, ox, [&](int64_t at) {
        const Wide<T> value = widen(channel[at]);
        best = is_new_maximum(value, best) ? value : best;
      });
      return narrow<T>(best);
    });
  };
  const DType dtype = call.out[0].dtype;
  is_float(dtype) ? with_any_float(dtype, run) : with_number_type(dtype, run);
  return {};
}

Status run_average(const Call& call, int, int64_t piece) {
  const auto& pool = state_of<ImagePool>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    pool_row<T>(call, piece, [&](int64_t oy, int64_t ox, const T* channel) {
      double sum = 0.0;
      for_each_pixel(pool, oy, ox, [&](int64_t at) { sum += to_double(channel[at]); });
      return from_double<T>(sum / pool.geometry.divisor(oy, ox));
    });
  });
  return {};
}

}  // namespace
}  // namespace halfstep::kernels::channels_last

namespace halfstep::kernels {

extern const Kernel reference_channels_last_conv2d{"reference", accept_all, channels_last::prepare_conv,
                                                   channels_last::run_conv};
extern const Kernel reference_channels_last_max_pool2d{
    "reference", accept_all, channels_last::prepare_pool<ChannelsLastMaxPool2d>, channels_last::run_max};
extern const Kernel reference_channels_last_avg_pool2d{
    "reference", accept_all, channels_last::prepare_pool<ChannelsLastAvgPool2d>, channels_last::run_average};

}  // namespace halfstep::kernels
