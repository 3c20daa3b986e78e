// Averages plane by plane. Sums have the order of the reference, except that global_avg_pool sums in lanes.
#include "halfstep/engine/kernels/common/lanes.h"
#include "halfstep/engine/kernels/image/pool/cpu/planes.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

Plan prepare(const Problem& problem) {
  const PoolGeometry g =
      pool_geometry(AvgPool2d(problem.attributes), problem.in[AvgPool2d::in::x]->dims, problem.out[0]->dims);
  return pool_plan(g, g.ow);
}

/// Computes all windows of a result row together: row by row of the windows, and in each row column by column.
void average_row(const PoolGeometry& g, const float* plane, int64_t oy, double* sums, float* dst) {
  std::fill_n(sums, g.ow, 0.0);
  const Span1d rows = g.rows(oy);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t kx = 0; kx < g.kernel[1]; ++kx) {
      const Span1d places = g.inside(kx);
      const float* src = plane + y * g.w + kx - g.pad[1];
      for (int64_t ox = places.begin; ox < places.end; ++ox) sums[ox] += double{src[ox * g.stride[1]]};
    }
  }
  for (int64_t ox = 0; ox < g.ow; ++ox) dst[ox] = static_cast<float>(sums[ox] / g.divisor(oy, ox));
}

Status run(const Call& call, int, int64_t piece) {
  const auto* src = call.in[AvgPool2d::in::x].as<const float>();
  auto* dst = call.out[0].as<float>();
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  for_each_plane(call, piece, [&](const PoolGeometry& g, int64_t plane) {
    for (int64_t oy = 0; oy < g.oh; ++oy)
      average_row(g, src + plane * g.plane(), oy, sums, dst + plane * g.out_plane() + oy * g.ow);
  });
  return {};
}

Plan prepare_grad(const Problem& problem) {
  const PoolGeometry g = pool_geometry(AvgPool2dGrad(problem.attributes), problem.out[0]->dims,
                                       problem.in[AvgPool2dGrad::in::out_grad]->dims);
  return pool_plan(g, g.plane());
}

void average_grad_plane(const PoolGeometry& g, const float* out_grad, double* sums, float* dst) {
  std::fill_n(sums, g.plane(), 0.0);
  for (int64_t oy = 0; oy < g.oh; ++oy) {
    const Span1d rows = g.rows(oy);
    for (int64_t ox = 0; ox < g.ow; ++ox) {
      const double share = double{out_grad[oy * g.ow + ox]} / g.divisor(oy, ox);
      const Span1d columns = g.columns(ox);
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = columns.begin; x < columns.end; ++x) sums[y * g.w + x] += share;
      }
    }
  }
  for (int64_t i = 0; i < g.plane(); ++i) dst[i] = static_cast<float>(sums[i]);
}

Status run_grad(const Call& call, int, int64_t piece) {
  const auto* out_grad = call.in[AvgPool2dGrad::in::out_grad].as<const float>();
  auto* dst = call.out[0].as<float>();
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  for_each_plane(call, piece, [&](const PoolGeometry& g, int64_t plane) {
    average_grad_plane(g, out_grad + plane * g.out_plane(), sums, dst + plane * g.plane());
  });
  return {};
}

Plan prepare_global(const Problem& problem) {
  const Dims& x = problem.in[GlobalAvgPool::in::x]->dims;
  return pool_plan({x[0] * x[1], x[2], x[3], 1, 1, {x[2], x[3]}, {1, 1}, {}});
}

Status run_global(const Call& call, int, int64_t piece) {
  const auto* src = call.in[GlobalAvgPool::in::x].as<const float>();
  auto* dst = call.out[0].as<float>();
  for_each_plane(call, piece, [&](const PoolGeometry& g, int64_t plane) {
    SumLanes lanes{};
    add_in_lanes(src + plane * g.plane(), g.plane(), lanes);
    dst[plane] = static_cast<float>(sum_of_lanes(lanes) / static_cast<double>(g.plane()));
  });
  return {};
}

Verdict accept_f32(const Problem& problem) {
  if (problem.in[0]->dtype != DType::f32)
    return refuse(errors::kernel_takes_other_types("x", name(problem.in[0]->dtype), "f32"));
  return accept();
}

Verdict accept_average(const Problem& problem) {
  if (Verdict verdict = accept_narrow<AvgPool2d>(problem); !verdict) return verdict;
  return accept_f32(problem);
}

Verdict accept_global(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  return accept_f32(problem);
}

}  // namespace

extern const Kernel cpu_avg_pool2d_planes{"planes", accept_average, prepare, run};
extern const Kernel cpu_avg_pool2d_grad_planes{"planes", accept_f32, prepare_grad, run_grad};
extern const Kernel cpu_global_avg_pool_planes{"planes", accept_global, prepare_global, run_global};

}  // namespace halfstep::kernels
