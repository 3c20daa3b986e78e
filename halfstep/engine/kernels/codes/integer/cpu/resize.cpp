// Resampling of one-byte codes along the last two axes, on vectors. A row of x is resampled once, as long as rows of
// the result need it. Sums are exact, so the order of the axes does not matter.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/resize.cpp"
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/codes/integer/pieces.h"
#include "halfstep/engine/kernels/common/resampling.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/common/tap_table.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/requantize-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_RESIZE
#define HALFSTEP_KERNELS_INTEGER_RESIZE
namespace halfstep::kernels::integer {

/// Most lanes of a vector of sums. Rows of sums are padded to a multiple of it.
inline constexpr int64_t kRowLanes = HWY_MAX_BYTES / 4;

struct ResizeState {
  IntegerResize attributes;
  arith::Requantizer requantizer;
  DType types[2];  ///< types of x and of the result
  TapTable<int32_t> rows, columns;
  RowPieces pieces;
  void (*run)(const ResizeState& state, const uint8_t* x, uint8_t* out, int64_t first, std::byte* scratch);

  /// Number of int32 of a padded row of x.
  int64_t wide_row() const { return ceil_div(columns.in, kRowLanes) * kRowLanes; }
  size_t scratch_bytes() const {
    return static_cast<size_t>(wide_row() + rows.width * columns.padded) * sizeof(int32_t) +
           static_cast<size_t>(rows.width) * sizeof(int64_t);
  }
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using codes::HWY_NAMESPACE::CodeLanes;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;

/// Resampled rows of x. A row of the result reads consecutive ones, so each has its own place.
class ResampledRows {
 public:
  ResampledRows(const ResizeState& state, const uint8_t* x, std::byte* scratch)
      : state_(state),
        x_(x),
        lanes_(state.types[0]),
        wide_(reinterpret_cast<int32_t*>(scratch)),
        sums_(wide_ + state.wide_row()),
        held_(reinterpret_cast<int64_t*>(sums_ + state.rows.width * state.columns.padded)) {
    std::fill_n(held_, state.rows.width, int64_t{-1});
  }

  const int32_t* row(int64_t number) const {
    const int64_t place = number % state_.rows.width;
    int32_t* const to = sums_ + place * state_.columns.padded;
    if (held_[place] != number) resample(number, to);
    held_[place] = number;
    return to;
  }

 private:
  void resample(int64_t number, int32_t* to) const {
    const Ints d;
    const TapTable<int32_t>& columns = state_.columns;
    const auto step = static_cast<int64_t>(hn::Lanes(d));
    widen(x_ + number * columns.in);
    for (int64_t i = 0; i < columns.padded; i += step) {
      IntVec sum = hn::Zero(d);
      for (int64_t tap = 0; tap < columns.width; ++tap) {
        const IntVec value = hn::GatherIndex(d, wide_, hn::LoadU(d, columns.places_of(tap) + i));
        sum = sum + value * hn::LoadU(d, columns.weights_of(tap) + i);
      }
      hn::StoreU(sum, d, to + i);
    }
  }

  /// The codes of a row minus the zero point.
  void widen(const uint8_t* from) const {
    const Ints d;
    const IntVec zero = hn::Set(d, static_cast<int32_t>(state_.attributes.x_zero_point));
    const auto step = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t i = 0; i < state_.columns.in; i += step) {
      const int64_t left = state_.columns.in - i;
      uint8_t rest[kRowLanes] = {};
      if (left < step) std::copy_n(from + i, left, rest);
      hn::StoreU(lanes_.load(left < step ? rest : from + i) - zero, d, wide_ + i);
    }
  }

  const ResizeState& state_;
  const uint8_t* x_;
  CodeLanes<uint8_t> lanes_;
  int32_t *wide_, *sums_;
  int64_t* held_;  ///< numbers of the rows in sums_
};

/// Rows of the result from `first` on.
inline void resize_rows(const ResizeState& state, const uint8_t* x, uint8_t* out, int64_t first, std::byte* scratch) {
  const Ints d;
  const IntegerResize& t = state.attributes;
  const ResampledRows resampled(state, x, scratch);
  const CodeLanes<uint8_t> lanes(state.types[1]);
  const IntVec low = hn::Set(d, static_cast<int32_t>(t.code_min)), high = hn::Set(d, static_cast<int32_t>(t.code_max));
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = state.columns.out, end = std::min(first + state.pieces.lines, state.rows.out);
  codes::HWY_NAMESPACE::with_lanes(state.requantizer, static_cast<int32_t>(t.y_zero_point), [&](const auto& code_of) {
    for (int64_t y = first; y < end; ++y) {
      const auto tap_of = [&](int64_t tap) { return resampled.row(state.rows.places_of(tap)[y]); };
      const int32_t* const top = tap_of(0);
      const int32_t* const next = state.rows.width > 1 ? tap_of(1) : top;
      const IntVec top_weight = hn::Set(d, state.rows.weights_of(0)[y]);
      const IntVec next_weight = hn::Set(d, state.rows.width > 1 ? state.rows.weights_of(1)[y] : 0);
      for (int64_t tap = 2; tap < state.rows.width; ++tap) tap_of(tap);
      uint8_t* const line = out + y * width;
      for (int64_t i = 0; i < width; i += step) {
        IntVec acc = hn::LoadU(d, top + i) * top_weight + hn::LoadU(d, next + i) * next_weight;
        for (int64_t tap = 2; tap < state.rows.width; ++tap)
          acc = acc + hn::LoadU(d, tap_of(tap) + i) * hn::Set(d, state.rows.weights_of(tap)[y]);
        const IntVec codes = hn::Min(hn::Max(code_of(acc), low), high);
        if (width - i >= step) {
          lanes.store(codes, line + i);
        } else {
          uint8_t rest[kRowLanes];
          lanes.store(codes, rest);
          std::copy_n(rest, width - i, line + i);
        }
      }
    }
  });
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// The axes that change.
std::vector<arith::ResampledAxis> axes_of(const Problem& problem) {
  const IntegerResize attributes(problem.attributes);
  return arith::resampled_axes(resampling_of(attributes), problem.in[IntegerResize::in::x]->dims, problem.out[0]->dims);
}

/// The largest sum of the magnitudes of the weights of an element.
int64_t most_weight(const TapTable<int32_t>& table) {
  int64_t most = 0;
  for (int64_t i = 0; i < table.out; ++i) {
    int64_t sum = 0;
    for (int64_t tap = 0; tap < table.width; ++tap) sum += std::abs(int64_t{table.weights_of(tap)[i]});
    most = std::max(most, sum);
  }
  return most;
}

/// Rows and columns. An axis that does not change has the weight 1.
std::pair<TapTable<int32_t>, TapTable<int32_t>> tables_of(const Problem& problem) {
  const std::vector<arith::ResampledAxis> axes = axes_of(problem);
  const Dims& x = problem.in[IntegerResize::in::x]->dims;
  const auto table_of = [&](const arith::ResampledAxis& axis, size_t from_end) {
    const auto is_it = [&](const arith::ResampledAxis& one) { return one.axis + from_end == x.size(); };
    const int bits = std::ranges::any_of(axes, is_it) ? arith::weight_bits(axes.size()) : 0;
    return TapTable<int32_t>(axis, arith::integer_weights(axis, bits), kRowLanes);
  };
  const auto [rows, columns] = last_axes(axes, x);
  return {table_of(rows, 2), table_of(columns, 1)};
}

Verdict accept_resize(const Problem& problem) {
  if (Verdict verdict = accept_resampling<IntegerResize>(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  const Type& x = *problem.in[IntegerResize::in::x];
  for (const Type* type : {&x, problem.out[0]}) {
    if (is_wide(type->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(type->dtype), "codes of one byte"));
  }
  const IntegerResize a(problem.attributes);
  if (Verdict verdict = accept_last_axes(axes_of(problem), x.dims); !verdict) return verdict;
  const auto [rows, columns] = tables_of(problem);
  const double zero_point = static_cast<double>(std::abs(a.x_zero_point)), most = 255 + zero_point;
  const double sum = most * static_cast<double>(most_weight(rows)) * static_cast<double>(most_weight(columns));
  if (sum >= 0x1p31)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("sums up to {}", sum), "sums below 2^31"));
  return accept();
}

Plan prepare_resize(const Problem& problem) {
  const IntegerResize a(problem.attributes);
  auto [rows, columns] = tables_of(problem);
  const RowPieces pieces(rows.out, columns.out);
  const int64_t images = count_elements(problem.out[0]->dims) / (rows.out * columns.out);
  ResizeState state{a,
                    stored_scale(a.multiplier, a.shift, shift_rounding(a)),
                    {problem.in[IntegerResize::in::x]->dtype, problem.out[0]->dtype},
                    std::move(rows),
                    std::move(columns),
                    pieces,
                    HS_SIMD_CHOOSE(problem.level, resize_rows)};
  const size_t scratch = state.scratch_bytes();
  return {.state = std::make_shared<ResizeState>(std::move(state)),
          .worker_scratch = scratch,
          .phases = {images * pieces.blocks}};
}

Status run_resize(const Call& call, int, int64_t piece) {
  const auto& state = state_of<ResizeState>(call);
  const int64_t image = state.pieces.image(piece);
  state.run(state, call.in[IntegerResize::in::x].as<const uint8_t>() + image * state.rows.in * state.columns.in,
            call.out[0].as<uint8_t>() + image * state.rows.out * state.columns.out, state.pieces.first_row(piece),
            call.worker_scratch);
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_resize_rows{"rows", integer::accept_resize, integer::prepare_resize,
                                            integer::run_resize};

}  // namespace halfstep::kernels
#endif
