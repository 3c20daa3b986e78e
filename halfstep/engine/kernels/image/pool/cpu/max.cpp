// Largest values row by row. Each row of a window is compared for all windows of a result row at once. The comparisons
// of a window keep the order of the reference, so that equal values (0 and -0) have equal bits.
#include "halfstep/core/base/with_number_type.h"
#include "halfstep/engine/kernels/image/pool/cpu/planes.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class T>
void max_row(const PoolGeometry& g, const T* plane, int64_t oy, T* dst) {
  std::fill_n(dst, g.ow, lowest<T>());
  const Span1d rows = g.rows(oy);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t kx = 0; kx < g.kernel[1]; ++kx) {
      const Span1d places = g.inside(kx);
      const T* src = plane + y * g.w + kx - g.pad[1];
      const int64_t stride = g.stride[1];
      for (int64_t ox = places.begin; ox < places.end; ++ox) {
        const T value = src[ox * stride];
        dst[ox] = is_new_maximum(value, dst[ox]) ? value : dst[ox];
      }
    }
  }
}

Plan prepare(const Problem& problem) {
  return pool_plan(
      pool_geometry(MaxPool2d(problem.attributes), problem.in[MaxPool2d::in::x]->dims, problem.out[0]->dims));
}

Status run(const Call& call, int, int64_t piece) {
  with_number_type(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[MaxPool2d::in::x].as<const T>();
    T* dst = call.out[0].as<T>();
    for_each_plane(call, piece, [&](const PoolGeometry& g, int64_t plane) {
      for (int64_t oy = 0; oy < g.oh; ++oy)
        max_row(g, src + plane * g.plane(), oy, dst + plane * g.out_plane() + oy * g.ow);
    });
  });
  return {};
}

Plan prepare_grad(const Problem& problem) {
  using In = MaxPool2dGrad::in;
  return pool_plan(
      pool_geometry(MaxPool2dGrad(problem.attributes), problem.in[In::x]->dims, problem.in[In::out_grad]->dims));
}

/// Adds each window's gradient to its first largest element. Windows go in order.
template <class X, class T>
void max_grad_plane(const PoolGeometry& g, const X* src, const T* out_grad, T* dst) {
  std::fill_n(dst, g.plane(), T(0));
  for (int64_t oy = 0; oy < g.oh; ++oy) {
    const Span1d rows = g.rows(oy);
    for (int64_t ox = 0; ox < g.ow; ++ox) {
      const int64_t best = first_largest(g, src, rows, g.columns(ox));
      if (best >= 0) dst[best] += out_grad[oy * g.ow + ox];
    }
  }
}

Status run_grad(const Call& call, int, int64_t piece) {
  using In = MaxPool2dGrad::in;
  with_number_type(call.in[In::x].dtype, [&]<class X>() {
    with_float(call.out[0].dtype, [&]<class T>() {
      for_each_plane(call, piece, [&](const PoolGeometry& g, int64_t plane) {
        max_grad_plane(g, call.in[In::x].as<const X>() + plane * g.plane(),
                       call.in[In::out_grad].as<const T>() + plane * g.out_plane(),
                       call.out[0].as<T>() + plane * g.plane());
      });
    });
  });
  return {};
}

Verdict accept_rows(const Problem& problem) {
  if (Verdict verdict = accept_narrow<MaxPool2d>(problem); !verdict) return verdict;
  return accept_f32_f64(problem);
}

}  // namespace

extern const Kernel cpu_max_pool2d_rows{"rows", accept_rows, prepare, run};
extern const Kernel cpu_max_pool2d_grad_planes{"planes", accept_f32_f64, prepare_grad, run_grad};

}  // namespace halfstep::kernels
