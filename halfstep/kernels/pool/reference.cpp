// Pooling by its definition. Averages are sums in double, row by row, divided and rounded once.
#include <memory>

#include "halfstep/base/with_number_type.h"
#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/pool/geometry.h"

namespace halfstep::kernels {
namespace {

Plan plan_of(const PoolGeometry& g) { return {.state = std::make_shared<PoolGeometry>(g), .phases = {g.planes}}; }

template <class Typed>
Plan prepare_forward(const Problem& problem) {
  return plan_of(pool_geometry(Typed(problem.attributes), problem.in[0]->dims, problem.out[0]->dims));
}
Plan prepare_max_grad(const Problem& problem) {
  using In = MaxPool2dGrad::in;
  return plan_of(
      pool_geometry(MaxPool2dGrad(problem.attributes), problem.in[In::x]->dims, problem.in[In::out_grad]->dims));
}
Plan prepare_average_grad(const Problem& problem) {
  return plan_of(pool_geometry(AvgPool2dGrad(problem.attributes), problem.out[0]->dims,
                               problem.in[AvgPool2dGrad::in::out_grad]->dims));
}
Plan prepare_global(const Problem& problem) {
  const Dims& x = problem.in[GlobalAvgPool::in::x]->dims;
  return plan_of({x[0] * x[1], x[2], x[3], 1, 1, {x[2], x[3]}, {1, 1}, {}});
}

/// visit(oy, ox) for the windows of a plane, in order.
template <class Visit>
void for_each_window(const PoolGeometry& g, Visit&& visit) {
  for (int64_t oy = 0; oy < g.oh; ++oy) {
    for (int64_t ox = 0; ox < g.ow; ++ox) visit(oy, ox);
  }
}

/// visit(oy, ox) for the windows that hold element `at` of a plane, in order.
template <class Visit>
void for_each_window_of(const PoolGeometry& g, int64_t at, Visit&& visit) {
  const Span1d rows = g.places_of_row(at / g.w), columns = g.places_of_column(at % g.w);
  for (int64_t oy = rows.begin; oy < rows.end; ++oy) {
    for (int64_t ox = columns.begin; ox < columns.end; ++ox) visit(oy, ox);
  }
}

template <class T>
void max_plane(const PoolGeometry& g, const T* plane, T* dst) {
  for_each_window(g, [&](int64_t oy, int64_t ox) {
    const int64_t best = first_largest(g, plane, g.rows(oy), g.columns(ox));
    dst[oy * g.ow + ox] = best < 0 ? static_cast<T>(lowest<Wide<T>>()) : plane[best];
  });
}

Status run_max(const Call& call, int, int64_t piece) {
  const auto& g = state_of<PoolGeometry>(call);
  const auto run = [&]<class T>() {
    max_plane(g, call.in[MaxPool2d::in::x].as<const T>() + piece * g.plane(),
              call.out[0].as<T>() + piece * g.out_plane());
  };
  const DType dtype = call.out[0].dtype;
  is_float(dtype) ? with_any_float(dtype, run) : with_number_type(dtype, run);
  return {};
}

/// Each element of x collects, in its result's type, the gradients of the windows where it is the first largest, in
/// their order.
Status run_max_grad(const Call& call, int, int64_t piece) {
  using In = MaxPool2dGrad::in;
  const auto& g = state_of<PoolGeometry>(call);
  with_number_type(call.in[In::x].dtype, [&]<class X>() {
    const X* plane = call.in[In::x].as<const X>() + piece * g.plane();
    with_float(call.out[0].dtype, [&]<class T>() {
      const T* out_grad = call.in[In::out_grad].as<const T>() + piece * g.out_plane();
      T* dst = call.out[0].as<T>() + piece * g.plane();
      for (int64_t at = 0; at < g.plane(); ++at) {
        T sum = 0;
        for_each_window_of(g, at, [&](int64_t oy, int64_t ox) {
          if (first_largest(g, plane, g.rows(oy), g.columns(ox)) == at) sum += out_grad[oy * g.ow + ox];
        });
        dst[at] = sum;
      }
    });
  });
  return {};
}

Status run_average(const Call& call, int, int64_t piece) {
  const auto& g = state_of<PoolGeometry>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[AvgPool2d::in::x].as<const T>() + piece * g.plane();
    T* dst = call.out[0].as<T>() + piece * g.out_plane();
    for_each_window(g, [&](int64_t oy, int64_t ox) {
      const Span1d rows = g.rows(oy), columns = g.columns(ox);
      double sum = 0.0;
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = columns.begin; x < columns.end; ++x) sum += to_double(plane[y * g.w + x]);
      }
      dst[oy * g.ow + ox] = from_double<T>(sum / g.divisor(oy, ox));
    });
  });
  return {};
}

Status run_average_grad(const Call& call, int, int64_t piece) {
  const auto& g = state_of<PoolGeometry>(call);
  const float* out_grad = call.in[AvgPool2dGrad::in::out_grad].as<const float>() + piece * g.out_plane();
  float* dst = call.out[0].as<float>() + piece * g.plane();
  for (int64_t at = 0; at < g.plane(); ++at) {
    double sum = 0.0;
    for_each_window_of(g, at,
                       [&](int64_t oy, int64_t ox) { sum += double{out_grad[oy * g.ow + ox]} / g.divisor(oy, ox); });
    dst[at] = static_cast<float>(sum);
  }
  return {};
}

/// Codes of small floats have no order of their own.
Verdict accept_numbers(const Problem& problem) {
  const DType dtype = problem.in[0]->dtype;
  if (is_small_float(dtype)) return refuse("{} is stored but not compared", name(dtype));
  return accept();
}

}  // namespace

extern const Kernel reference_max_pool2d{"reference", accept_numbers, prepare_forward<MaxPool2d>, run_max};
extern const Kernel reference_max_pool2d_grad{"reference", accept_f32_f64, prepare_max_grad, run_max_grad};
extern const Kernel reference_avg_pool2d{"reference", accept_all, prepare_forward<AvgPool2d>, run_average};
extern const Kernel reference_avg_pool2d_grad{"reference", accept_all, prepare_average_grad, run_average_grad};
extern const Kernel reference_global_avg_pool{"reference", accept_all, prepare_global, run_average};

}  // namespace halfstep::kernels
