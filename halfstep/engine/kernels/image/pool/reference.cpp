// Pooling by its definition, over one to three axes, channels first or last. Averages and norms are sums in double,
// window by window, rounded once.
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/image/pool/geometry.h"
#include "halfstep/engine/kernels/image/pool/windows.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
Plan prepare_pool(const Problem& problem) {
  const auto state = window_state<Typed>(problem, *problem.in[0], *problem.out[0]);
  return {.state = state, .phases = {state->window.planes()}};
}

template <class Typed>
Status run_max(const Call& call, int, int64_t piece) {
  const auto& state = state_of<WindowState<Typed>>(call);
  const Window& g = state.window;
  with_elements(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[0].as<const T>() + state.window.x_at(piece);
    T* dst = call.out[0].as<T>() + state.window.out_at(piece);
    g.for_each_window([&](int64_t index, const Axes& p) {
      const int64_t best = place_of_largest(g, plane, state.window.x_order.place, p);
      dst[index * state.window.out_order.place] =
          best < 0 ? static_cast<T>(lowest<Wide<T>>()) : plane[best * state.window.x_order.place];
    });
  });
  return {};
}

/// Stores result(sum of term(element) over a window, window) for the windows of a plane.
template <class Typed, class Term, class Result>
void reduce_plane(const Call& call, int64_t piece, Term&& term, Result&& result) {
  const auto& state = state_of<WindowState<Typed>>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[0].as<const T>() + state.window.x_at(piece);
    T* dst = call.out[0].as<T>() + state.window.out_at(piece);
    state.window.for_each_window([&](int64_t index, const Axes& p) {
      double sum = 0.0;
      state.window.for_each_place(p,
                                  [&](int64_t at) { sum += term(to_double(plane[at * state.window.x_order.place])); });
      dst[index * state.window.out_order.place] = from_double<T>(result(sum, p));
    });
  });
}

template <class Typed>
Status run_average(const Call& call, int, int64_t piece) {
  const auto& state = state_of<WindowState<Typed>>(call);
  reduce_plane<Typed>(
      call, piece, [](double x) { return x; },
      [&](double sum, const Axes& p) {
        return sum / static_cast<double>(state.window.count(p, state.attributes.count_include_pad));
      });
  return {};
}

Status run_norm(const Call& call, int, int64_t piece) {
  const auto power = static_cast<double>(state_of<WindowState<LpPool>>(call).attributes.p);
  reduce_plane<LpPool>(
      call, piece, [power](double x) { return std::pow(std::fabs(x), power); },
      [power](double sum, const Axes&) { return std::pow(sum, 1 / power); });
  return {};
}

// Pools over whole images, where all elements of a plane are the window.

Plan prepare_global(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const int64_t planes = x[0] * x[1];
  return {.state = std::make_shared<int64_t>(planes == 0 ? 0 : count_elements(x) / planes), .phases = {planes}};
}

Status run_global_max(const Call& call, int, int64_t piece) {
  const auto& size = state_of<int64_t>(call);
  with_number(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[0].as<const T>() + piece * size;
    Wide<T> best = lowest<Wide<T>>();
    for (int64_t i = 0; i < size; ++i) best = is_new_maximum(widen(plane[i]), best) ? widen(plane[i]) : best;
    call.out[0].as<T>()[piece] = narrow<T>(best);
  });
  return {};
}

Status run_global_average(const Call& call, int, int64_t piece) {
  const auto& size = state_of<int64_t>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[0].as<const T>() + piece * size;
    double sum = 0.0;
    for (int64_t i = 0; i < size; ++i) sum += to_double(plane[i]);
    call.out[0].as<T>()[piece] = from_double<T>(sum / static_cast<double>(size));
  });
  return {};
}

}  // namespace

extern const Kernel reference_max_pool2d{"reference", accept_numbers, prepare_pool<MaxPool2d>, run_max<MaxPool2d>};
extern const Kernel reference_channels_last_max_pool2d{"reference", accept_numbers, prepare_pool<ChannelsLastMaxPool2d>,
                                                       run_max<ChannelsLastMaxPool2d>};
extern const Kernel reference_average_pool{"reference", accept_all, prepare_pool<AveragePool>,
                                           run_average<AveragePool>};
extern const Kernel reference_avg_pool2d{"reference", accept_all, prepare_pool<AvgPool2d>, run_average<AvgPool2d>};
extern const Kernel reference_channels_last_avg_pool2d{"reference", accept_all, prepare_pool<ChannelsLastAvgPool2d>,
                                                       run_average<ChannelsLastAvgPool2d>};
extern const Kernel reference_lp_pool{"reference", accept_all, prepare_pool<LpPool>, run_norm};
extern const Kernel reference_global_max_pool{"reference", accept_all, prepare_global, run_global_max};
extern const Kernel reference_global_avg_pool{"reference", accept_all, prepare_global, run_global_average};

}  // namespace halfstep::kernels
