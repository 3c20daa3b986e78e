// core/arith/row_softmax.h and core/arith/row_norm.h on vectors, from rows of codes to codes before the clamp.
// Quotients are computed in double. For nearly all elements the error is far below the distance to the next integer.
// The others are divided exactly as in the rule. Included once for every target.
#if defined(HALFSTEP_KERNELS_CODES_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_CODES_ROWS_INL_H_
#undef HALFSTEP_KERNELS_CODES_ROWS_INL_H_
#else
#define HALFSTEP_KERNELS_CODES_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"
#include "halfstep/engine/kernels/codes/requantize-inl.h"
#include "halfstep/engine/kernels/codes/rows.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::codes::HWY_NAMESPACE {

using Doubles = hn::Repartition<double, Ints>;
using DoubleVec = hn::Vec<Doubles>;
using HalfInts = hn::Rebind<int32_t, Doubles>;

/// Loads the codes of a row as int32, followed by zeros.
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

/// Stores the codes of a row, clamped.
template <class Word>
void store_row(DType type, arith::Clamp clamp, const int32_t* line, int64_t count, void* y) {
  const Ints d;
  const CodeLanes<Word> lanes(type);
  const IntVec low = hn::Set(d, clamp.low), high = hn::Set(d, clamp.high);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto codes_at = [&](int64_t i) { return hn::Min(hn::Max(hn::LoadU(d, line + i), low), high); };
  auto* to = static_cast<Word*>(y);
  int64_t i = 0;
  for (; i + step <= count; i += step) lanes.store(codes_at(i), to + i);
  if (i == count) return;
  Word rest[kSpareLanes];
  lanes.store(codes_at(i), rest);
  std::copy_n(rest, count - i, to + i);
}

inline int32_t largest_of(const int32_t* line, int64_t count) {
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

/// Replaces codes by the exponentials of their distance from the largest code. Returns the sum. `fine` and `coarse` are
/// the tables of arith::Exponentials. One-byte codes need no `coarse`.
inline int64_t exponentials(const int32_t* fine, const int32_t* coarse, bool wide, int64_t count, int32_t* line) {
  const Ints d;
  const Longs longs;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const IntVec byte = hn::Set(d, 255), top = hn::Set(d, largest_of(line, count));
  for (int64_t i = 0; i < count; i += step) {
    const IntVec steps = hn::Max(top - hn::LoadU(d, line + i), hn::Zero(d));
    IntVec one = hn::GatherIndex(d, fine, hn::And(steps, byte));
    if (wide) {
      const Halves v = product(one, hn::GatherIndex(d, coarse, hn::Min(hn::ShiftRight<8>(steps), byte)));
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

/// Whether a number of `v` is within `margin` of an integer.
inline bool near_whole(DoubleVec v, DoubleVec below, double margin) {
  const Doubles d;
  const DoubleVec part = v - below, gap = hn::Min(part, hn::Set(d, 1.0) - part);
  return !hn::AllFalse(d, hn::Lt(gap, hn::Set(d, margin)));
}

/// arith::softmax_code of exponentials, for shifts that round half up. `codes` may equal `line`.
inline void softmax_codes(const int32_t* line, int64_t count, int64_t sum, arith::Multiplier factor, int32_t zero_point,
                          int32_t* codes) {
  constexpr double kMargin = 0x1p-28;  // more than the error of a quotient below 2^17
  const Doubles d;
  const HalfInts ints;
  const double scale = std::ldexp(static_cast<double>(factor.m) / static_cast<double>(sum), -factor.shift);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += step) {
    const DoubleVec one = hn::PromoteTo(d, hn::LoadU(ints, line + i));
    const DoubleVec steps = hn::MulAdd(one, hn::Set(d, scale), hn::Set(d, 0.5));
    const DoubleVec below = hn::Floor(steps);
    if (near_whole(steps, below, kMargin)) {
      for (int64_t k = i; k < std::min(count, i + step); ++k)
        codes[k] =
            static_cast<int32_t>(arith::softmax_code(line[k], sum, factor, arith::ShiftRounding::half_up, zero_point));
      continue;
    }
    hn::StoreU(hn::DemoteTo(ints, below) + hn::Set(ints, zero_point), ints, codes + i);
  }
}

/// Sums of a row's steps from its zero point, and of their squares.
struct RowSums {
  int64_t sum, squares;
};
/// Replaces the codes by steps and returns their sums.
inline RowSums sums_of(int32_t zero_point, int64_t count, int32_t* line) {
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

/// Parameters that turn normalized elements into codes.
struct NormLine {
  const int32_t* factor = nullptr;  ///< by element
  const int64_t* bias = nullptr;    ///< by element
  int32_t shift = 1;
  arith::ShiftRounding rounding = arith::ShiftRounding::half_up;
  int32_t zero_point = 0;
};

/// Replaces a row's steps by their arith::norm_code, saturated to int32. Calls visit(i, normalized elements from i on
/// as doubles) for every vector.
template <class Visit>
HWY_INLINE void norm_codes(const arith::RowRoot& root, const NormLine& norm, int64_t count, int32_t* line,
                           Visit&& visit) {
  constexpr double kMargin = 0x1p-20;  // more than the error of a quotient below 2^30
  using Limits = std::numeric_limits<int32_t>;
  const Doubles d;
  const Longs longs;
  const HalfInts ints;
  const double scale = root.root == 0 ? 0.0 : std::ldexp(1.0 / static_cast<double>(root.root), root.shift);
  const DoubleVec elements = hn::Set(d, static_cast<double>(count)), sum = hn::Set(d, static_cast<double>(root.sum));
  const LongVec low = hn::Set(longs, int64_t{Limits::min()}), high = hn::Set(longs, int64_t{Limits::max()});
  const LongVec zero = hn::Set(longs, int64_t{norm.zero_point});
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += step) {
    const auto valid = hn::FirstN(ints, static_cast<size_t>(count - i));
    const DoubleVec deviation = hn::MulSub(hn::PromoteTo(d, hn::LoadU(ints, line + i)), elements, sum);
    const DoubleVec quotient = hn::MulAdd(deviation, hn::Set(d, scale), hn::Set(d, 0.5));
    DoubleVec normalized = hn::Floor(quotient);
    if (near_whole(quotient, normalized, kMargin)) {
      double exact[kSpareLanes] = {};
      for (int64_t k = i; k < std::min(count, i + step); ++k)
        exact[k - i] = static_cast<double>(root.normalized(line[k]));
      normalized = hn::LoadU(d, exact);
    }
    visit(i, normalized);
    const auto whole = hn::BitCast(Ints(), hn::PromoteTo(longs, hn::DemoteTo(ints, normalized)));
    const auto by = hn::BitCast(Ints(), hn::PromoteTo(longs, hn::MaskedLoad(valid, ints, norm.factor + i)));
    const auto bias = hn::MaskedLoad(hn::FirstN(longs, static_cast<size_t>(count - i)), longs, norm.bias + i);
    const LongVec code = shift_right(hn::MulEven(whole, by) + bias, norm.shift, norm.rounding) + zero;
    const IntVec saturated = hn::BitCast(Ints(), hn::Min(hn::Max(code, low), high));
    hn::StoreU(hn::LowerHalf(ints, hn::ConcatEven(Ints(), saturated, saturated)), ints, line + i);
  }
}

}  // namespace halfstep::kernels::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
