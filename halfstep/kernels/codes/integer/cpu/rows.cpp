// Softmax and normalizations of rows of codes on vectors. Quotients are found in double, whose error is far below the
// distance to the next whole number but for few elements; these are divided as the rule says.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/codes/integer/cpu/rows.cpp"
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/arith/row_norm.h"
#include "halfstep/arith/row_softmax.h"
#include "halfstep/kernels/codes/integer/step.h"
#include "halfstep/kernels/codes/rows.h"
#include "halfstep/kernels/common/simd/dispatch.h"
#include "halfstep/kernels/ops.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/codes/requantize-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_ROWS
#define HALFSTEP_KERNELS_INTEGER_ROWS
namespace halfstep::kernels::integer {

/// Lanes that a row's words may be read or written beyond its end.
inline constexpr int64_t kSpareLanes = HWY_MAX_BYTES / 4;

struct SoftmaxRows {
  IntegerSoftmax attributes;
  Rows rows;
  arith::FixedScale factor;
  DType x_type, y_type;
  void (*run)(const SoftmaxRows& state, const int32_t* fine, const int32_t* coarse, const void* x, void* y,
              int32_t* line);
};

struct NormRows {
  IntegerNorm attributes;
  Rows rows;
  arith::ShiftRounding rounding;
  DType x_type, y_type;
  void (*run)(const NormRows& state, const int32_t* factor, const int64_t* bias, const void* x, void* y, int32_t* line);
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace codes::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): vectors and their types
using Doubles = hn::Repartition<double, Ints>;
using DoubleVec = hn::Vec<Doubles>;
using HalfInts = hn::Rebind<int32_t, Doubles>;

/// Codes of a row as int32, with zeros behind them.
template <class Word>
void load_row(DType type, const void* x, int64_t count, int32_t* line) {
  const CodeLanes<Word> lanes(type);
  const auto step = static_cast<int64_t>(hn::Lanes(Ints()));
  const auto* from = static_cast<const Word*>(x);
  int64_t i = 0;
  for (; i + step <= count; i += step) hn::StoreU(lanes.load(from + i), Ints(), line + i);
  if (i == count) return;
  Word rest[kSpareLanes] = {};
  std::copy(from + i, from + count, rest);
  hn::StoreU(lanes.load(rest), Ints(), line + i);
}

template <class Word>
void store_row(DType type, const int32_t* line, int64_t count, void* y) {
  const CodeLanes<Word> lanes(type);
  const auto step = static_cast<int64_t>(hn::Lanes(Ints()));
  auto* to = static_cast<Word*>(y);
  int64_t i = 0;
  for (; i + step <= count; i += step) lanes.store(hn::LoadU(Ints(), line + i), to + i);
  if (i == count) return;
  Word rest[kSpareLanes];
  lanes.store(hn::LoadU(Ints(), line + i), rest);
  std::copy_n(rest, count - i, to + i);
}

template <class X, class Y>
struct RowWords {
  static void load(DType type, const void* x, int64_t count, int32_t* line) { load_row<X>(type, x, count, line); }
  static void store(DType type, const int32_t* line, int64_t count, void* y) { store_row<Y>(type, line, count, y); }
};

/// Largest of a row; lanes behind its end repeat elements before.
HWY_INLINE int32_t largest_of(const int32_t* line, int64_t count) {
  const Ints d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int32_t most = line[0];
  int64_t i = 0;
  if (count >= step) {
    IntVec largest = hn::LoadU(d, line);
    for (i = step; i + step <= count; i += step) largest = hn::Max(largest, hn::LoadU(d, line + i));
    most = hn::GetLane(hn::MaxOfLanes(d, largest));
  }
  for (; i < count; ++i) most = std::max(most, line[i]);
  return most;
}

/// Exponentials in place of codes; their sum.
HWY_INLINE int64_t exponentials(const int32_t* fine, const int32_t* coarse, int32_t last, int32_t most, int64_t count,
                                int32_t* line) {
  const Ints d;
  const Longs longs;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const IntVec byte = hn::Set(d, 255), top = hn::Set(d, most), end = hn::Set(d, last);
  for (int64_t i = 0; i < count; i += step) {
    const IntVec steps = hn::Max(top - hn::LoadU(d, line + i), hn::Zero(d));
    IntVec one = hn::GatherIndex(d, fine, hn::And(steps, byte));
    if (last > 0) {
      const Halves v = product(one, hn::GatherIndex(d, coarse, hn::Min(hn::ShiftRight<8>(steps), end)));
      const LongVec half = hn::Set(longs, int64_t{1} << (arith::kExponentialBits - 1));
      one = joined(hn::ShiftRight<arith::kExponentialBits>(v.even + half),
                   hn::ShiftRight<arith::kExponentialBits>(v.odd + half));
    }
    hn::StoreU(one, d, line + i);
  }
  std::fill(line + count, line + count + kSpareLanes, 0);
  LongVec sums = hn::Zero(longs);
  for (int64_t i = 0; i < count; i += step) {
    const auto one = hn::BitCast(hn::Repartition<uint64_t, Ints>(), hn::LoadU(d, line + i));
    sums = sums + hn::BitCast(longs, hn::ShiftRight<32>(one)) +
           hn::BitCast(longs, hn::And(one, hn::Set(hn::Repartition<uint64_t, Ints>(), 0xFFFFFFFFU)));
  }
  return hn::GetLane(hn::SumOfLanes(longs, sums));
}

/// Whether a number of `v` lies within `margin` of a whole one.
HWY_INLINE bool near_whole(DoubleVec v, DoubleVec below, double margin) {
  const Doubles d;
  const DoubleVec part = v - below, gap = hn::Min(part, hn::Set(d, 1.0) - part);
  return !hn::AllFalse(d, hn::Lt(gap, hn::Set(d, margin)));
}

template <class Words>
void softmax_row(const SoftmaxRows& state, const int32_t* fine, const int32_t* coarse, const void* x, void* y,
                 int32_t* line) {
  constexpr double kMargin = 0x1p-28;  // more than the error of a quotient below 2^17
  const Doubles d;
  const HalfInts ints;
  const IntegerSoftmax& a = state.attributes;
  const int64_t count = state.rows.extent;
  Words::load(state.x_type, x, count, line);
  const int32_t last = is_wide(state.x_type) ? 255 : 0;
  const int64_t sum = std::max<int64_t>(1, exponentials(fine, coarse, last, largest_of(line, count), count, line));
  const arith::Multiplier factor = state.factor.positive;
  const double scale = std::ldexp(static_cast<double>(factor.m) / static_cast<double>(sum), -factor.shift);
  const auto zero_point = static_cast<int32_t>(a.y_zero_point);
  const arith::Clamp clamp = clamp_of(a);
  const auto low = hn::Set(ints, clamp.low), high = hn::Set(ints, clamp.high), zero = hn::Set(ints, zero_point);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += step) {
    const auto one = hn::LoadU(ints, line + i);
    const DoubleVec steps = hn::MulAdd(hn::PromoteTo(d, one), hn::Set(d, scale), hn::Set(d, 0.5));
    const DoubleVec below = hn::Floor(steps);
    if (near_whole(steps, below, kMargin)) {
      for (int64_t k = i; k < std::min(count, i + step); ++k)
        line[k] = clamp.apply(arith::softmax_code(line[k], sum, factor, state.factor.rounding, zero_point));
      continue;
    }
    hn::StoreU(hn::Min(hn::Max(hn::DemoteTo(ints, below) + zero, low), high), ints, line + i);
  }
  Words::store(state.y_type, line, count, y);
}

/// Steps from the zero point in place of codes, their sum and that of their squares.
struct RowSums {
  int64_t sum, squares;
};
HWY_INLINE RowSums sums_of(int32_t zero_point, int64_t count, int32_t* line) {
  const Ints d;
  const Longs longs;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const IntVec zero = hn::Set(d, zero_point);
  for (int64_t i = 0; i < count; i += step) hn::StoreU(hn::LoadU(d, line + i) - zero, d, line + i);
  std::fill(line + count, line + count + kSpareLanes, 0);
  LongVec sums = hn::Zero(longs), squares = hn::Zero(longs);
  const IntVec one = hn::Set(d, 1);
  for (int64_t i = 0; i < count; i += step) {
    const IntVec steps = hn::LoadU(d, line + i), odd = odd_to_even(steps);
    sums = sums + hn::MulEven(steps, one) + hn::MulEven(odd, one);
    squares = squares + hn::MulEven(steps, steps) + hn::MulEven(odd, odd);
  }
  return {hn::GetLane(hn::SumOfLanes(longs, sums)), hn::GetLane(hn::SumOfLanes(longs, squares))};
}

template <class Words>
void norm_row(const NormRows& state, const int32_t* factor, const int64_t* bias, const void* x, void* y,
              int32_t* line) {
  constexpr double kMargin = 0x1p-20;  // more than the error of a quotient below 2^30
  const Doubles d;
  const Longs longs;
  const HalfInts ints;
  const IntegerNorm& a = state.attributes;
  const int64_t count = state.rows.extent;
  Words::load(state.x_type, x, count, line);
  const RowSums sums = sums_of(static_cast<int32_t>(a.x_zero_point), count, line);
  const auto root =
      arith::RowRoot::of(count, sums.sum, sums.squares, a.centered, a.epsilon, static_cast<int32_t>(a.guard));
  const double scale = root.root == 0 ? 0.0 : std::ldexp(1.0 / static_cast<double>(root.root), root.shift);
  const DoubleVec elements = hn::Set(d, static_cast<double>(count)), sum = hn::Set(d, static_cast<double>(root.sum));
  const LongVec low = hn::Set(longs, a.code_min), high = hn::Set(longs, a.code_max);
  const LongVec zero = hn::Set(longs, a.y_zero_point);
  const auto shift = static_cast<int32_t>(a.shift);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += step) {
    const DoubleVec deviation = hn::MulSub(hn::PromoteTo(d, hn::LoadU(ints, line + i)), elements, sum);
    const DoubleVec normalized = hn::MulAdd(deviation, hn::Set(d, scale), hn::Set(d, 0.5));
    const DoubleVec below = hn::Floor(normalized);
    if (i + step > count || near_whole(normalized, below, kMargin)) {
      for (int64_t k = i; k < std::min(count, i + step); ++k)
        line[k] = clamp_of(a).apply(arith::norm_code(root.normalized(line[k]), factor[k], bias[k], shift,
                                                     state.rounding, static_cast<int32_t>(a.y_zero_point)));
      continue;
    }
    const auto whole = hn::BitCast(Ints(), hn::PromoteTo(longs, hn::DemoteTo(ints, below)));
    const auto by = hn::BitCast(Ints(), hn::PromoteTo(longs, hn::LoadU(ints, factor + i)));
    const LongVec scaled = hn::MulEven(whole, by) + hn::LoadU(longs, bias + i);
    const LongVec code = shift_right(scaled, shift, state.rounding) + zero;
    const IntVec clamped = hn::BitCast(Ints(), hn::Min(hn::Max(code, low), high));
    hn::StoreU(hn::LowerHalf(ints, hn::ConcatEven(Ints(), clamped, clamped)), ints, line + i);
  }
  Words::store(state.y_type, line, count, y);
}

using SoftmaxRow = decltype(SoftmaxRows::run);
using NormRow = decltype(NormRows::run);

SoftmaxRow softmax_of(bool wide_x, bool wide_y) {
  if (wide_x) return wide_y ? &softmax_row<RowWords<uint16_t, uint16_t>> : &softmax_row<RowWords<uint16_t, uint8_t>>;
  return wide_y ? &softmax_row<RowWords<uint8_t, uint16_t>> : &softmax_row<RowWords<uint8_t, uint8_t>>;
}

NormRow norm_of(bool wide_x, bool wide_y) {
  if (wide_x) return wide_y ? &norm_row<RowWords<uint16_t, uint16_t>> : &norm_row<RowWords<uint16_t, uint8_t>>;
  return wide_y ? &norm_row<RowWords<uint8_t, uint16_t>> : &norm_row<RowWords<uint8_t, uint8_t>>;
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// Room for a row as int32.
size_t line_bytes(const Rows& rows) { return static_cast<size_t>(rows.extent + kSpareLanes) * sizeof(int32_t); }

Verdict accept_rows(const Problem& problem, const Rows& rows) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  if (rows.stride != 1) return refuse("its rows do not lie in one run");
  return accept();
}

Rows softmax_rows(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  return Rows::of(problem.in[IntegerSoftmax::in::x]->dims, a.axis, a.flattened);
}

Verdict accept_softmax(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  if (Verdict verdict = accept_rows(problem, softmax_rows(problem)); !verdict) return verdict;
  if (shift_rounding(a) != arith::ShiftRounding::half_up) return refuse("its shift rounds otherwise than half up");
  const int64_t entries = problem.in[IntegerSoftmax::in::coarse]->dims[0];
  if (is_wide(problem.in[IntegerSoftmax::in::x]->dtype) != (entries > 1))
    return refuse("its tables are not those of its codes");
  return accept();
}

Plan prepare_softmax(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  const DType x = problem.in[IntegerSoftmax::in::x]->dtype, y = problem.out[0]->dtype;
  const auto softmax_of = HS_SIMD_CHOOSE(problem.level, softmax_of);
  const Rows rows = softmax_rows(problem);
  return {
      .state = std::make_shared<SoftmaxRows>(SoftmaxRows{
          a, rows, stored_scale(a.multiplier, a.shift, shift_rounding(a)), x, y, softmax_of(is_wide(x), is_wide(y))}),
      .worker_scratch = line_bytes(rows),
      .phases = {rows.pieces()}};
}

Status run_softmax(const Call& call, int, int64_t piece) {
  using In = IntegerSoftmax::in;
  const auto& state = state_of<SoftmaxRows>(call);
  state.rows.for_piece(piece, [&](int64_t row) {
    state.run(state, call.in[In::fine].as<const int32_t>(), call.in[In::coarse].as<const int32_t>(),
              element_of(call.in[In::x], row * state.rows.extent), element_of(call.out[0], row * state.rows.extent),
              reinterpret_cast<int32_t*>(call.worker_scratch));
  });
  return {};
}

Rows norm_rows(const Problem& problem) { return Rows::of(problem.in[IntegerNorm::in::x]->dims, -1); }

Verdict accept_norm(const Problem& problem) { return accept_rows(problem, norm_rows(problem)); }

Plan prepare_norm(const Problem& problem) {
  const IntegerNorm a(problem.attributes);
  const DType x = problem.in[IntegerNorm::in::x]->dtype, y = problem.out[0]->dtype;
  const auto norm_of = HS_SIMD_CHOOSE(problem.level, norm_of);
  const Rows rows = norm_rows(problem);
  return {
      .state = std::make_shared<NormRows>(NormRows{a, rows, shift_rounding(a), x, y, norm_of(is_wide(x), is_wide(y))}),
      .worker_scratch = line_bytes(rows),
      .phases = {rows.pieces()}};
}

Status run_norm(const Call& call, int, int64_t piece) {
  using In = IntegerNorm::in;
  const auto& state = state_of<NormRows>(call);
  state.rows.for_piece(piece, [&](int64_t row) {
    state.run(state, call.in[In::factor].as<const int32_t>(), call.in[In::bias].as<const int64_t>(),
              element_of(call.in[In::x], row * state.rows.extent), element_of(call.out[0], row * state.rows.extent),
              reinterpret_cast<int32_t*>(call.worker_scratch));
  });
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_softmax_simd{"simd", integer::accept_softmax, integer::prepare_softmax,
                                             integer::run_softmax};
extern const Kernel cpu_integer_norm_simd{"simd", integer::accept_norm, integer::prepare_norm, integer::run_norm};

}  // namespace halfstep::kernels
#endif
