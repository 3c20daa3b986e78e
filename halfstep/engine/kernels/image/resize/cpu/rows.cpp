// Resize of f32 along the last two axes, on vectors. The bits are those of the reference: sums in double over rows,
// then over columns.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/image/resize/cpu/rows.cpp"
#include <algorithm>
#include <cstring>
#include <memory>

#include "halfstep/engine/kernels/common/resampling.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/common/tap_table.h"
#include "halfstep/engine/kernels/ops.h"

#ifndef HALFSTEP_KERNELS_RESIZE_ROWS
#define HALFSTEP_KERNELS_RESIZE_ROWS
namespace halfstep::kernels::resize {

/// Most elements of a vector. Tables are padded to a multiple of it.
inline constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;

struct ResizeRowsState {
  TapTable<double> rows, columns;
  RowPieces pieces;
  /// Rows of the result from `first` on. `line` has room for a row of x in double.
  void (*run)(const ResizeRowsState& state, const float* x, float* out, int64_t first, double* line);
};

}  // namespace halfstep::kernels::resize
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::resize::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
using DoubleVec = hn::Vec<Doubles>;
using HalfFloats = hn::Rebind<float, Doubles>;
using Wholes = hn::ScalableTag<int32_t>;

/// The sum of the taps' terms from zero, as the reference adds them. A single tap is copied.
template <class Sum, class ValueAt, class WeightAt>
HWY_INLINE Sum sum_of_taps(Sum zero, int64_t width, ValueAt&& value_at, WeightAt&& weight_at) {
  if (width == 1) return value_at(0);
  Sum sum = zero;
  for (int64_t tap = 0; tap < width; ++tap) sum = sum + weight_at(tap) * value_at(tap);
  return sum;
}

/// Stores the first `count` elements of a vector.
template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> values, int64_t count, hn::TFromD<D>* to) {
  if (count >= static_cast<int64_t>(hn::Lanes(d))) return hn::StoreU(values, d, to);
  hn::TFromD<D> all[kMostLanes];
  hn::StoreU(values, d, all);
  std::copy_n(all, count, to);
}

/// Resamples the rows that make row y of the result.
HWY_INLINE void sum_rows(const ResizeRowsState& state, const float* x, int64_t y, double* line) {
  const Doubles d;
  const int64_t count = state.columns.in;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto row = [&](int64_t tap) { return x + state.rows.places_of(tap)[y] * count; };
  const auto weight = [&](int64_t tap) { return state.rows.weights_of(tap)[y]; };
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto value_at = [&](int64_t tap) { return hn::PromoteTo(d, hn::LoadU(HalfFloats(), row(tap) + i)); };
    const auto weight_at = [&](int64_t tap) { return hn::Set(d, weight(tap)); };
    hn::StoreU(sum_of_taps(hn::Zero(d), state.rows.width, value_at, weight_at), d, line + i);
  }
  for (; i < count; ++i)
    line[i] = sum_of_taps(
        0.0, state.rows.width, [&](int64_t tap) { return double{row(tap)[i]}; }, weight);
}

HWY_INLINE void sum_columns(const ResizeRowsState& state, const double* line, float* out) {
  const Doubles d;
  const hn::RebindToSigned<Doubles> places;
  const TapTable<double>& columns = state.columns;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < columns.out; i += step) {
    const auto value_at = [&](int64_t tap) {
      const auto at = hn::LoadU(hn::Rebind<int32_t, Doubles>(), columns.places_of(tap) + i);
      return hn::GatherIndex(d, line, hn::PromoteTo(places, at));
    };
    const auto weight_at = [&](int64_t tap) { return hn::LoadU(d, columns.weights_of(tap) + i); };
    const DoubleVec sum = sum_of_taps(hn::Zero(d), columns.width, value_at, weight_at);
    store_first(HalfFloats(), hn::DemoteTo(HalfFloats(), sum), columns.out - i, out + i);
  }
}

inline void resample_rows(const ResizeRowsState& state, const float* x, float* out, int64_t first, double* line) {
  const int64_t end = std::min(first + state.pieces.lines, state.rows.out);
  for (int64_t y = first; y < end; ++y) {
    sum_rows(state, x, y, line);
    sum_columns(state, line, out + y * state.columns.out);
  }
}

/// Rows that are all copies of elements. A row of the same source as the one before it is a copy of that.
inline void copy_rows(const ResizeRowsState& state, const float* x, float* out, int64_t first, double*) {
  const Wholes d;
  const TapTable<double>& columns = state.columns;
  const int32_t* const rows = state.rows.places_of(0);
  const int32_t* const places = columns.places_of(0);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const int64_t end = std::min(first + state.pieces.lines, state.rows.out);
  for (int64_t y = first; y < end; ++y) {
    float* const to = out + y * columns.out;
    if (y > first && rows[y] == rows[y - 1]) {
      std::memcpy(to, to - columns.out, static_cast<size_t>(columns.out) * sizeof(float));
      continue;
    }
    const auto* from = reinterpret_cast<const int32_t*>(x + rows[y] * columns.in);
    for (int64_t i = 0; i < columns.out; i += step)
      store_first(d, hn::GatherIndex(d, from, hn::LoadU(d, places + i)), columns.out - i,
                  reinterpret_cast<int32_t*>(to) + i);
  }
}

}  // namespace halfstep::kernels::resize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace resize {
namespace {

std::vector<arith::ResampledAxis> resampled_axes_of(const Problem& problem) {
  const Resize attributes(problem.attributes);
  return arith::resampled_axes(resampling_of(attributes), problem.in[Resize::in::x]->dims, problem.out[0]->dims);
}

Verdict accept_rows(const Problem& problem) {
  if (Verdict verdict = accept_resampling<Resize>(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Type& x = *problem.in[Resize::in::x];
  if (x.dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(x.dtype), "f32"));
  if (Verdict verdict = accept_last_axes(resampled_axes_of(problem), x.dims); !verdict) return verdict;
  if (x.dims.empty() || count_elements(problem.out[0]->dims) == 0)
    return refuse(errors::kernel_is_for_other_sizes(to_string(x.dims), "at least one element"));
  return accept();
}

Plan prepare_rows(const Problem& problem) {
  const auto [rows, columns] = last_axes(resampled_axes_of(problem), problem.in[Resize::in::x]->dims);
  const RowPieces pieces(rows.out, columns.out);
  const int64_t images = count_elements(problem.out[0]->dims) / (rows.out * columns.out);
  const bool copies = rows.width == 1 && columns.width == 1;
  const auto run = copies ? HS_SIMD_CHOOSE(problem.level, copy_rows) : HS_SIMD_CHOOSE(problem.level, resample_rows);
  auto state = std::make_shared<ResizeRowsState>(ResizeRowsState{TapTable<double>(rows, rows.weights, kMostLanes),
                                                                 TapTable<double>(columns, columns.weights, kMostLanes),
                                                                 pieces, run});
  const size_t scratch = copies ? 0 : static_cast<size_t>(columns.in + kMostLanes) * sizeof(double);
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {images * pieces.blocks}};
}

Status run_rows(const Call& call, int, int64_t piece) {
  const auto& state = state_of<ResizeRowsState>(call);
  const int64_t image = state.pieces.image(piece);
  state.run(state, call.in[Resize::in::x].as<const float>() + image * state.rows.in * state.columns.in,
            call.out[0].as<float>() + image * state.rows.out * state.columns.out, state.pieces.first_row(piece),
            reinterpret_cast<double*>(call.worker_scratch));
  return {};
}

}  // namespace
}  // namespace resize

extern const Kernel cpu_resize_rows{"rows", resize::accept_rows, resize::prepare_rows, resize::run_rows};

}  // namespace halfstep::kernels
#endif
