// Convolution and its gradients as sums over taps. Every element is one sum in double, in the order of the loops,
// rounded once.
#include <memory>

#include "halfstep/kernels/activation.h"
#include "halfstep/kernels/conv/geometry.h"
#include "halfstep/kernels/number_types.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct ConvState {
  ConvGeometry geometry;
  Activation activation = {};
};

/// Calls visit(x offset in a plane, tap) for the taps of out pixel (oy, ox) that meet x.
template <class Visit>
void for_each_tap(const ConvGeometry& g, int64_t oy, int64_t ox, Visit&& visit) {
  for (int64_t ky = 0; ky < g.kh; ++ky) {
    const int64_t y = oy * g.stride[0] - g.pad[0] + ky * g.dilation[0];
    if (y < 0 || y >= g.h) continue;
    for (int64_t kx = 0; kx < g.kw; ++kx) {
      const int64_t x = ox * g.stride[1] - g.pad[1] + kx * g.dilation[1];
      if (x >= 0 && x < g.w) visit(y * g.w + x, ky * g.kw + kx);
    }
  }
}

/// Plane `o` of image `n` of the output.
template <class T>
void forward_plane(const ConvState& state, const T* src, const T* weights, const T* bias, T* dst, int64_t n,
                   int64_t o) {
  const ConvGeometry& g = state.geometry;
  src += n * g.x_image() + o / g.group_out() * g.group_in() * g.x_plane();
  weights += o * g.filter();
  dst += n * g.out_image() + o * g.out_plane();
  for (int64_t oy = 0; oy < g.oh; ++oy) {
    for (int64_t ox = 0; ox < g.ow; ++ox) {
      double sum = 0.0;
      for (int64_t i = 0; i < g.group_in(); ++i) {
        for_each_tap(g, oy, ox, [&](int64_t at, int64_t tap) {
          sum += to_double(src[i * g.x_plane() + at]) * to_double(weights[i * g.taps() + tap]);
        });
      }
      dst[oy * g.ow + ox] = from_double<T>(bias == nullptr ? sum : sum + to_double(bias[o]));
    }
  }
  state.activation.apply(dst, g.out_plane());
}

/// The out coordinate whose tap k meets x coordinate `at`, or -1.
int64_t out_of_tap(int64_t at, int64_t pad, int64_t k, int64_t dilation, int64_t stride, int64_t extent) {
  const int64_t shifted = at + pad - k * dilation;
  return shifted < 0 || shifted % stride != 0 || shifted / stride >= extent ? -1 : shifted / stride;
}

/// Plane `c` of image `n` of the gradient of x.
template <class T>
void grad_x_plane(const ConvGeometry& g, const T* out_grad, const T* weights, T* dst, int64_t n, int64_t c) {
  const int64_t first_out = c / g.group_in() * g.group_out();
  out_grad += n * g.out_image() + first_out * g.out_plane();
  weights += first_out * g.filter() + c % g.group_in() * g.taps();
  dst += n * g.x_image() + c * g.x_plane();
  for (int64_t at = 0; at < g.x_plane(); ++at) {
    double sum = 0.0;
    for (int64_t o = 0; o < g.group_out(); ++o) {
      for (int64_t tap = 0; tap < g.taps(); ++tap) {
        const int64_t oy = out_of_tap(at / g.w, g.pad[0], tap / g.kw, g.dilation[0], g.stride[0], g.oh);
        const int64_t ox = out_of_tap(at % g.w, g.pad[1], tap % g.kw, g.dilation[1], g.stride[1], g.ow);
        if (oy < 0 || ox < 0) continue;
        sum += to_double(out_grad[o * g.out_plane() + oy * g.ow + ox]) * to_double(weights[o * g.filter() + tap]);
      }
    }
    dst[at] = from_double<T>(sum);
  }
}

/// The filter of output channel `o` of the gradient of the weights; `sums` holds one double for each of its elements.
template <class T>
void grad_w_filter(const ConvGeometry& g, const T* src, const T* out_grad, T* dst, int64_t o, double* sums) {
  src += o / g.group_out() * g.group_in() * g.x_plane();
  out_grad += o * g.out_plane();
  std::fill_n(sums, g.filter(), 0.0);
  for (int64_t n = 0; n < g.n; ++n) {
    for (int64_t i = 0; i < g.group_in(); ++i) {
      const T* plane = src + n * g.x_image() + i * g.x_plane();
      for (int64_t oy = 0; oy < g.oh; ++oy) {
        for (int64_t ox = 0; ox < g.ow; ++ox) {
          const double grad = to_double(out_grad[n * g.out_image() + oy * g.ow + ox]);
          for_each_tap(g, oy, ox,
                       [&](int64_t at, int64_t tap) { sums[i * g.taps() + tap] += to_double(plane[at]) * grad; });
        }
      }
    }
  }
  for (int64_t i = 0; i < g.filter(); ++i) dst[o * g.filter() + i] = from_double<T>(sums[i]);
}

ConvGeometry forward_geometry(const Problem& problem) {
  return conv_geometry(Conv2d(problem.attributes), problem.in[Conv2d::in::x]->dims, problem.in[Conv2d::in::w]->dims,
                       problem.out[0]->dims);
}

Plan prepare_forward(const Problem& problem) {
  const ConvGeometry g = forward_geometry(problem);
  return {.state = std::make_shared<ConvState>(g), .phases = {g.n * g.o}};
}

Plan prepare_activation(const Problem& problem) {
  const Conv2dActivation a(problem.attributes);
  const ConvGeometry g = forward_geometry(problem);
  return {.state = std::make_shared<ConvState>(g, Activation::of(a.activation, a.alpha)), .phases = {g.n * g.o}};
}

Plan prepare_grad_x(const Problem& problem) {
  const ConvGeometry g =
      conv_geometry(Conv2dGradX(problem.attributes), problem.out[0]->dims, problem.in[Conv2dGradX::in::w]->dims,
                    problem.in[Conv2dGradX::in::out_grad]->dims);
  return {.state = std::make_shared<ConvState>(g), .phases = {g.n * g.c}};
}

Plan prepare_grad_w(const Problem& problem) {
  const ConvGeometry g = conv_geometry(Conv2dGradW(problem.attributes), problem.in[Conv2dGradW::in::x]->dims,
                                       problem.out[0]->dims, problem.in[Conv2dGradW::in::out_grad]->dims);
  return {.state = std::make_shared<ConvState>(g),
          .worker_scratch = static_cast<size_t>(g.filter()) * sizeof(double),
          .phases = {g.o}};
}

Status run_forward(const Call& call, int, int64_t piece) {
  const auto& state = state_of<ConvState>(call);
  const int64_t outputs = state.geometry.o;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    forward_plane(state, call.in[Conv2d::in::x].as<const T>(), call.in[Conv2d::in::w].as<const T>(),
                  call.in[Conv2d::in::b].as<const T>(), call.out[0].as<T>(), piece / outputs, piece % outputs);
  });
  return {};
}

Status run_grad_x(const Call& call, int, int64_t piece) {
  const ConvGeometry& g = state_of<ConvState>(call).geometry;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    grad_x_plane(g, call.in[Conv2dGradX::in::out_grad].as<const T>(), call.in[Conv2dGradX::in::w].as<const T>(),
                 call.out[0].as<T>(), piece / g.c, piece % g.c);
  });
  return {};
}

Status run_grad_w(const Call& call, int, int64_t piece) {
  const ConvGeometry& g = state_of<ConvState>(call).geometry;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    grad_w_filter(g, call.in[Conv2dGradW::in::x].as<const T>(), call.in[Conv2dGradW::in::out_grad].as<const T>(),
                  call.out[0].as<T>(), piece, reinterpret_cast<double*>(call.worker_scratch));
  });
  return {};
}

}  // namespace

extern const Kernel reference_conv2d{"reference", accept_all, prepare_forward, run_forward};
extern const Kernel reference_conv2d_activation{"reference", accept_all, prepare_activation, run_forward};
extern const Kernel reference_conv2d_grad_x{"reference", accept_all, prepare_grad_x, run_grad_x};
extern const Kernel reference_conv2d_grad_w{"reference", accept_all, prepare_grad_w, run_grad_w};

}  // namespace halfstep::kernels
