// Gradients of pooling by their definition, plane by plane. Windows add to the sums of their elements in order, and
// each element is rounded once.
#include <cmath>

#include "halfstep/engine/kernels/image/pool/windows.h"

namespace halfstep::kernels {
namespace {

/// The sums of a plane are in double or, for the maximum, in the type in which an element is computed.
template <class Typed>
Plan prepare(const Problem& problem) {
  const auto state = window_state<Typed>(problem, *problem.out[0], *problem.in[Typed::in::out_grad]);
  return {.state = state,
          .worker_scratch = static_cast<size_t>(state->window.plane()) * sizeof(double),
          .phases = {state->window.planes()}};
}

/// Stores the sums to which add(out_grad, sums) adds for plane `piece`.
template <class T, class Sum, class Add>
void store_sums(const Call& call, const PoolWindow& g, const ConstView& out_grad, int64_t piece, const Add& add) {
  auto* sums = reinterpret_cast<Sum*>(call.worker_scratch);
  std::fill_n(sums, g.plane(), Sum(0));
  add(out_grad.as<const T>() + g.out_at(piece), sums);
  T* dst = call.out[0].as<T>() + g.x_at(piece);
  for (int64_t i = 0; i < g.plane(); ++i) dst[i] = static_cast<T>(static_cast<Wide<T>>(sums[i]));
}

/// The first largest element of a window has its gradient.
template <class Typed>
Status run_max(const Call& call, int, int64_t piece) {
  using In = typename Typed::in;
  const PoolWindow& g = state_of<WindowState<Typed>>(call).window;
  with_elements(call.in[In::x].dtype, [&]<class X>() {
    const X* plane = call.in[In::x].template as<const X>() + g.x_at(piece);
    with_any_float(call.out[0].dtype, [&]<class T>() {
      store_sums<T, Wide<T>>(call, g, call.in[In::out_grad], piece, [&](const T* out_grad, Wide<T>* sums) {
        g.for_each_window([&](int64_t index, const Axes& p) {
          const int64_t best = place_of_largest(g, plane, 1, p);
          if (best >= 0) sums[best] += widen(out_grad[index]);
        });
      });
    });
  });
  return {};
}

template <class Typed>
Status run_average(const Call& call, int, int64_t piece) {
  const auto& [g, a] = state_of<WindowState<Typed>>(call);
  with_any_float(call.out[0].dtype, [&, &g = g, &a = a]<class T>() {
    store_sums<T, double>(call, g, call.in[Typed::in::out_grad], piece, [&](const T* out_grad, double* sums) {
      g.for_each_window([&](int64_t index, const Axes& p) {
        const double part = to_double(out_grad[index]) / static_cast<double>(g.count(p, a.count_include_pad));
        g.for_each_place(p, [&](int64_t at) { sums[at] += part; });
      });
    });
  });
  return {};
}

/// Derivative of |x|^p / p. 0 at 0.
double power_slope(double x, double p) { return x == 0 ? 0 : std::copysign(std::pow(std::fabs(x), p - 1), x); }

Status run_norm(const Call& call, int, int64_t piece) {
  using In = LpPoolGrad::in;
  const auto& [g, a] = state_of<WindowState<LpPoolGrad>>(call);
  const auto power = static_cast<double>(a.p);
  with_any_float(call.out[0].dtype, [&, &g = g]<class T>() {
    const T* plane = call.in[In::x].as<const T>() + g.x_at(piece);
    store_sums<T, double>(call, g, call.in[In::out_grad], piece, [&](const T* out_grad, double* sums) {
      g.for_each_window([&](int64_t index, const Axes& p) {
        double sum = 0;
        g.for_each_place(p, [&](int64_t at) { sum += std::pow(std::fabs(to_double(plane[at])), power); });
        if (sum == 0) return;
        const double share = to_double(out_grad[index]) * std::pow(sum, 1 / power - 1);
        g.for_each_place(p, [&](int64_t at) { sums[at] += share * power_slope(to_double(plane[at]), power); });
      });
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_max_pool_grad{"reference", accept_all, prepare<MaxPoolGrad>, run_max<MaxPoolGrad>};
extern const Kernel reference_max_pool2d_grad{"reference", accept_numbers, prepare<MaxPool2dGrad>,
                                              run_max<MaxPool2dGrad>};
extern const Kernel reference_average_pool_grad{"reference", accept_all, prepare<AveragePoolGrad>,
                                                run_average<AveragePoolGrad>};
extern const Kernel reference_avg_pool2d_grad{"reference", accept_all, prepare<AvgPool2dGrad>,
                                              run_average<AvgPool2dGrad>};
extern const Kernel reference_lp_pool_grad{"reference", accept_all, prepare<LpPoolGrad>, run_norm};

}  // namespace halfstep::kernels
