// Pooling over one to three spatial axes. Averages and norms are sums in double, rounded once.
#include <cmath>
#include <memory>

#include "halfstep/kernels/axis.h"
#include "halfstep/kernels/nn/windows.h"
#include "halfstep/kernels/number_types.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace nn {
namespace {

template <class Typed>
struct PoolState {
  Windows windows;
  Typed attributes;
};

template <class Typed>
Plan prepare_pool(const Problem& problem) {
  const Typed a(problem.attributes);
  auto state = std::make_shared<PoolState<Typed>>(Windows(a, problem.in[0]->dims, problem.out[0]->dims), a);
  const int64_t planes = state->windows.planes;
  return {.state = std::move(state), .phases = {planes}};
}

template <class T>
Wide<T> lowest_of() {
  if constexpr (kIsFloat<T>) return -std::numeric_limits<Wide<T>>::infinity();
  return std::numeric_limits<Wide<T>>::lowest();
}

/// A place of a plane with the first spatial axis counting fastest.
int64_t column_place(const Windows& w, int64_t place) {
  const int64_t k = place % w.in[2], j = place / w.in[2] % w.in[1], i = place / w.in[2] / w.in[1];
  return i + w.in[0] * (j + w.in[1] * k);
}

Status run_max_pool(const Call& call, int, int64_t piece) {
  const auto& [windows, a] = state_of<PoolState<MaxPool>>(call);
  const View& indices = call.out[MaxPool::out::indices];
  with_number(call.out[0].dtype, [&, &w = windows, storage_order = a.storage_order]<class T>() {
    const T* plane = call.in[0].as<const T>() + piece * w.plane();
    w.for_each_window([&](int64_t window, int64_t p, int64_t q, int64_t r) {
      int64_t best = -1;
      w.for_each_place(p, q, r, [&](int64_t at) {
        if (best < 0 || is_new_maximum(widen(plane[at]), widen(plane[best]))) best = at;
      });
      const int64_t to = piece * w.out_plane() + window;
      call.out[0].as<T>()[to] = best < 0 ? narrow<T>(lowest_of<T>()) : plane[best];
      if (!indices.present()) return;
      indices.as<int64_t>()[to] =
          best < 0 ? -1 : piece * w.plane() + (storage_order == 0 ? best : column_place(w, best));
    });
  });
  return {};
}

Status run_average_pool(const Call& call, int, int64_t piece) {
  const auto& [windows, a] = state_of<PoolState<AveragePool>>(call);
  with_any_float(call.out[0].dtype, [&, &w = windows, count_pad = a.count_include_pad]<class T>() {
    const T* plane = call.in[0].as<const T>() + piece * w.plane();
    T* dst = call.out[0].as<T>() + piece * w.out_plane();
    w.for_each_window([&](int64_t window, int64_t p, int64_t q, int64_t r) {
      double sum = 0;
      int64_t count = 0;
      w.for_each_place(p, q, r, [&](int64_t at) {
        sum += to_double(plane[at]);
        ++count;
      });
      if (count_pad) count = w.padded_count(0, p) * w.padded_count(1, q) * w.padded_count(2, r);
      dst[window] = from_double<T>(sum / static_cast<double>(count));
    });
  });
  return {};
}

Status run_lp_pool(const Call& call, int, int64_t piece) {
  const auto& [windows, a] = state_of<PoolState<LpPool>>(call);
  with_any_float(call.out[0].dtype, [&, &w = windows, p_norm = a.p]<class T>() {
    const T* plane = call.in[0].as<const T>() + piece * w.plane();
    T* dst = call.out[0].as<T>() + piece * w.out_plane();
    const auto power = static_cast<double>(p_norm);
    w.for_each_window([&](int64_t window, int64_t p, int64_t q, int64_t r) {
      double sum = 0;
      w.for_each_place(p, q, r, [&](int64_t at) { sum += std::pow(std::fabs(to_double(plane[at])), power); });
      dst[window] = from_double<T>(std::pow(sum, 1 / power));
    });
  });
  return {};
}

// global_max_pool

Plan prepare_global(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const int64_t planes = x[0] * x[1];
  return {.state = std::make_shared<int64_t>(planes == 0 ? 0 : count_elements(x) / planes), .phases = {planes}};
}

Status run_global_max(const Call& call, int, int64_t piece) {
  const auto& size = state_of<int64_t>(call);
  with_number(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[0].as<const T>() + piece * size;
    Wide<T> best = lowest_of<T>();
    for (int64_t i = 0; i < size; ++i) best = is_new_maximum(widen(plane[i]), best) ? widen(plane[i]) : best;
    call.out[0].as<T>()[piece] = narrow<T>(best);
  });
  return {};
}

// max_unpool

struct UnpoolState {
  Dims pooled;  ///< extents that indices count in
  Dims out;
};

Plan prepare_unpool(const Problem& problem) {
  const MaxUnpool a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  Dims pooled = {x[0], x[1]};
  const size_t spatial = a.kernel.size();
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t padding = a.pad.empty() ? 0 : a.pad[i] + a.pad[spatial + i];
    pooled.push_back((x[2 + i] - 1) * (a.stride.empty() ? 1 : a.stride[i]) - padding + a.kernel[i]);
  }
  return {.state = std::make_shared<UnpoolState>(std::move(pooled), problem.out[0]->dims)};
}

/// A flat place among `from` as one among `to`, or -1 where it has none.
int64_t moved_place(int64_t place, const Dims& from, const Dims& to) {
  int64_t moved = 0, stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    const int64_t at = place % from[i];
    if (at >= to[i]) return -1;
    moved += at * stride;
    stride *= to[i];
    place /= from[i];
  }
  return place == 0 ? moved : -1;
}

Status run_unpool(const Call& call, int, int64_t) {
  const auto& [pooled, out] = state_of<UnpoolState>(call);
  const int64_t* indices = call.in[MaxUnpool::in::indices].as<const int64_t>();
  const int64_t count = call.in[0].size(), limit = count_elements(pooled);
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= limit || moved_place(indices[i], pooled, out) < 0)
      return Status(fmt::format("index {} at {} is not in the result", indices[i], i));
  }
  with_number(call.out[0].dtype, [&, &from = pooled, &to = out]<class T>() {
    T* dst = call.out[0].as<T>();
    std::fill_n(dst, call.out[0].size(), static_cast<T>(Wide<T>(0)));
    for (int64_t i = 0; i < count; ++i) dst[moved_place(indices[i], from, to)] = call.in[0].as<const T>()[i];
  });
  return {};
}

}  // namespace
}  // namespace nn

using namespace nn;  // NOLINT: the table below alone

extern const Kernel reference_max_pool{"reference", accept_all, prepare_pool<MaxPool>, run_max_pool};
extern const Kernel reference_average_pool{"reference", accept_all, prepare_pool<AveragePool>, run_average_pool};
extern const Kernel reference_lp_pool{"reference", accept_all, prepare_pool<LpPool>, run_lp_pool};
extern const Kernel reference_global_max_pool{"reference", accept_all, prepare_global, run_global_max};
extern const Kernel reference_max_unpool{"reference", accept_all, prepare_unpool, run_unpool};

}  // namespace halfstep::kernels
