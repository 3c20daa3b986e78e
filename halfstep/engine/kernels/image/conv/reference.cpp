// Convolution, its gradients and its transpose by their definition. Every element is one sum in double, rounded once.
// The sum runs over channels, then taps, or over images and windows.
#include <memory>

#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/image/conv/window.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct ConvState {
  ConvWindow window;
  Activation activation = {};
};

/// `sums` is the worker scratch in doubles.
Plan plan_of(const ConvWindow& window, int64_t sums, int64_t pieces, Activation activation = {}) {
  return {.state = std::make_shared<ConvState>(window, activation),
          .worker_scratch = static_cast<size_t>(sums) * sizeof(double),
          .phases = {pieces}};
}

double* sums_of(const Call& call) { return reinterpret_cast<double*>(call.worker_scratch); }

template <class Typed>
Plan prepare_forward(const Problem& problem) {
  const auto g = window_of<Typed>(problem, ConvPass::forward);
  Activation activation;
  if constexpr (requires { Typed::activation; }) {
    const Typed a(problem.attributes);
    activation = Activation::of(a.activation, a.alpha);
  }
  return plan_of(g, g.out_plane(), g.n * g.o, activation);
}

/// Stores the sums of a plane as elements of the result.
template <class T>
void store_plane(const double* sums, int64_t size, const T* bias, int64_t channel, const T* residual, T* dst,
                 int64_t step) {
  for (int64_t i = 0; i < size; ++i) {
    double sum = sums[i];
    if (bias != nullptr) sum += to_double(bias[channel]);
    if (residual != nullptr) sum += to_double(residual[i * step]);
    dst[i * step] = from_double<T>(sum);
  }
}

template <class Typed>
Status run_forward(const Call& call, int, int64_t piece) {
  using In = typename Typed::in;
  const auto& [g, activation] = state_of<ConvState>(call);
  const int64_t n = piece / g.o, o = piece % g.o, begin = g.out_order.at(n, o), step = g.out_order.place;
  with_any_float(call.out[0].dtype, [&, &g = g, &activation = activation]<class T>() {
    sum_windows(g, call.in[0].as<const T>(), call.in[In::w].template as<const T>(), n, o, sums_of(call));
    const T *residual = nullptr, *bias = nullptr;
    if constexpr (requires { In::b; }) bias = call.in[In::b].template as<const T>();
    if constexpr (requires { In::residual; }) residual = call.in[In::residual].template as<const T>();
    T* dst = call.out[0].as<T>() + begin;
    store_plane(sums_of(call), g.out_plane(), bias, o, residual == nullptr ? nullptr : residual + begin, dst, step);
    for (int64_t i = 0; i < g.out_plane(); ++i) activation.apply(dst + i * step, 1);
  });
  return {};
}

/// Plane `c` of image `n` of the gradient of x, summed over output channels, then taps.
template <class T>
void sum_gradients(const ConvWindow& g, const T* out_grad, const T* w, int64_t n, int64_t c, double* sums) {
  std::fill_n(sums, g.plane(), 0.0);
  const int64_t first = c / g.group_in() * g.group_out();
  for (int64_t o = first; o < first + g.group_out(); ++o) {
    const T* plane = out_grad + g.out_order.at(n, o);
    const T* taps = w + o * g.filter() + c % g.group_in() * g.taps();
    for (int64_t tap = 0; tap < g.taps(); ++tap) {
      const double factor = to_double(taps[tap]);
      g.for_each_meeting(tap, [&](int64_t place, int64_t index) { sums[place] += factor * to_double(plane[index]); });
    }
  }
}

template <class Typed>
Plan prepare_transposed(const Problem& problem) {
  const auto g = window_of<Typed>(problem, ConvPass::grad_x);
  return plan_of(g, g.plane(), g.n * g.c);
}

template <class Typed>
Status run_transposed(const Call& call, int, int64_t piece) {
  using In = typename Typed::in;
  const ConvWindow& g = state_of<ConvState>(call).window;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    sum_gradients(g, call.in[0].as<const T>(), call.in[In::w].template as<const T>(), piece / g.c, piece % g.c,
                  sums_of(call));
    const T* bias = nullptr;
    if constexpr (requires { In::b; }) bias = call.in[In::b].template as<const T>();
    store_plane<T>(sums_of(call), g.plane(), bias, piece % g.c, nullptr, call.out[0].as<T>() + piece * g.plane(), 1);
  });
  return {};
}

template <class Typed>
Plan prepare_grad_w(const Problem& problem) {
  const auto g = window_of<Typed>(problem, ConvPass::grad_w);
  return plan_of(g, g.filter(), g.o);
}

/// The filter of output channel `o` of the gradient of the weights.
template <class T>
void sum_filter(const ConvWindow& g, const T* x, const T* out_grad, int64_t o, double* sums) {
  std::fill_n(sums, g.filter(), 0.0);
  for (int64_t n = 0; n < g.n; ++n) {
    const T* grad = out_grad + g.out_order.at(n, o);
    for (int64_t i = 0; i < g.filter(); ++i) {
      const T* plane = x + g.x_order.at(n, g.first_in(o) + i / g.taps());
      g.for_each_meeting(i % g.taps(), [&](int64_t place, int64_t index) {
        sums[i] += to_double(plane[place]) * to_double(grad[index]);
      });
    }
  }
}

Status run_grad_w(const Call& call, int, int64_t o) {
  const ConvWindow& g = state_of<ConvState>(call).window;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    sum_filter(g, call.in[0].as<const T>(), call.in[1].as<const T>(), o, sums_of(call));
    store_plane<T>(sums_of(call), g.filter(), nullptr, o, nullptr, call.out[0].as<T>() + o * g.filter(), 1);
  });
  return {};
}

}  // namespace

extern const Kernel reference_conv{"reference", accept_all, prepare_forward<Conv>, run_forward<Conv>};
extern const Kernel reference_conv2d{"reference", accept_all, prepare_forward<Conv2d>, run_forward<Conv2d>};
extern const Kernel reference_fused_conv2d{"reference", accept_all, prepare_forward<FusedConv2d>,
                                           run_forward<FusedConv2d>};
extern const Kernel reference_conv_transpose_grad_x{"reference", accept_all, prepare_forward<ConvTransposeGradX>,
                                                    run_forward<ConvTransposeGradX>};
extern const Kernel reference_conv_grad_x{"reference", accept_all, prepare_transposed<ConvGradX>,
                                          run_transposed<ConvGradX>};
extern const Kernel reference_conv2d_grad_x{"reference", accept_all, prepare_transposed<Conv2dGradX>,
                                            run_transposed<Conv2dGradX>};
extern const Kernel reference_conv_transpose{"reference", accept_all, prepare_transposed<ConvTranspose>,
                                             run_transposed<ConvTranspose>};
extern const Kernel reference_conv_grad_w{"reference", accept_all, prepare_grad_w<ConvGradW>, run_grad_w};
extern const Kernel reference_conv2d_grad_w{"reference", accept_all, prepare_grad_w<Conv2dGradW>, run_grad_w};

}  // namespace halfstep::kernels
