// From accumulators to codes, where the lanes of a vector are channels. Included once for every target.
#if defined(HALFSTEP_KERNELS_INTEGER_LANE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_INTEGER_LANE_CODES_INL_H_
#undef HALFSTEP_KERNELS_INTEGER_LANE_CODES_INL_H_
#else
#define HALFSTEP_KERNELS_INTEGER_LANE_CODES_INL_H_
#endif

#include <cstring>
#include <utility>

#include "halfstep/engine/kernels/codes/integer/cpu/lane_steps.h"
#include "halfstep/engine/kernels/codes/requantize-inl.h"

/// Unrolls a loop over accumulators in registers. GCC keeps an array in registers only if its loops are unrolled early.
#undef HS_UNROLL
#define HS_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using codes::HWY_NAMESPACE::Floats;
using codes::HWY_NAMESPACE::FloatVec;
using codes::HWY_NAMESPACE::Halves;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;
using codes::HWY_NAMESPACE::joined;
using codes::HWY_NAMESPACE::Longs;
using codes::HWY_NAMESPACE::LongVec;
using codes::HWY_NAMESPACE::nearest;
using codes::HWY_NAMESPACE::odd_to_even;
using codes::HWY_NAMESPACE::product;
using codes::HWY_NAMESPACE::shift_right;
using codes::HWY_NAMESPACE::whole_steps;

/// Lanes of a vector of sums. It covers a part of LaneSteps.
constexpr int64_t kIntLanes = hn::MaxLanes(Ints());
using Shorts = hn::Repartition<int16_t, Ints>;
using Bytes = hn::Repartition<uint8_t, Ints>;
using Words = hn::Repartition<uint16_t, Ints>;

/// Source of the parameters of vector v of sums.
struct LaneSource {
  const LaneSteps* steps;
  int64_t v;

  const LaneSteps& at() const { return steps[v * kIntLanes / kLanes]; }
  HWY_INLINE IntVec load(const int32_t (&of_lanes)[kLanes]) const {
    return hn::Load(Ints(), of_lanes + v * kIntLanes % kLanes);
  }
  HWY_INLINE FloatVec load(const float (&of_lanes)[kLanes]) const {
    return hn::Load(Floats(), of_lanes + v * kIntLanes % kLanes);
  }
};

// Lanes of a form have set(source, range) and steps(sums). Steps are codes before the zero point and the clamp, at most
// 2^30.

/// Forms with shifts that truncate or round half up, without general steps.
struct ShiftLanes {
  IntVec multiplier, after, half;

  HWY_INLINE void set(const LaneSource& from, const CodeRange& range) { set(from, from.at().positive, range); }
  HWY_INLINE void set(const LaneSource& from, const LaneFactors& factors, const CodeRange& range) {
    multiplier = from.load(factors.multiplier);
    after = from.load(factors.after);
    half = hn::Set(Ints(), range.half);
  }
  HWY_INLINE IntVec steps(IntVec acc) const {
    const Halves v = product(acc, multiplier);
    const IntVec upper = hn::OddEven(hn::BitCast(Ints(), v.odd), odd_to_even(hn::BitCast(Ints(), v.even)));
    return hn::ShiftRight<1>((upper >> after) + half);
  }
};

/// Like ShiftLanes, for any factor.
struct WideShiftLanes {
  ShiftLanes shifts;
  IntVec before, most;

  HWY_INLINE void set(const LaneSource& from, const LaneFactors& factors, const CodeRange& range) {
    shifts.set(from, factors, range);
    before = from.load(factors.before);
    most = from.load(factors.most);
  }
  HWY_INLINE IntVec steps(IntVec acc) const {
    return shifts.steps(hn::Max(hn::Min(acc, most), hn::Not(most)) << before);
  }
};

/// The other roundings. They need whole products.
template <arith::ShiftRounding kRounding>
struct RoundedLanes {
  IntVec multiplier;
  LongVec even, odd;  ///< shifts of the even and odd lanes

  HWY_INLINE void set(const LaneSource& from, const CodeRange& range) { set(from, from.at().positive, range); }
  HWY_INLINE void set(const LaneSource& from, const LaneFactors& factors, const CodeRange&) {
    multiplier = from.load(factors.multiplier);
    const IntVec shifts = from.load(factors.after);
    even = hn::And(hn::BitCast(Longs(), shifts), hn::Set(Longs(), int64_t{UINT32_MAX}));
    odd = hn::BitCast(Longs(), odd_to_even(shifts));
  }
  HWY_INLINE IntVec steps(IntVec acc) const {
    const Halves v = product(acc, multiplier);
    return joined(within(shift_right(v.even, even, kRounding)), within(shift_right(v.odd, odd, kRounding)));
  }

 private:
  static HWY_INLINE LongVec within(LongVec steps) {
    const LongVec most = hn::Set(Longs(), int64_t{1} << 30);
    return hn::Max(hn::Min(steps, most), hn::Neg(most));
  }
};

/// Lanes in which sums below zero may have another factor.
template <class Side>
struct TwoSidedLanes {
  Side positive, negative;

  HWY_INLINE void set(const LaneSource& from, const CodeRange& range) {
    positive.set(from, from.at().positive, range);
    negative.set(from, from.at().negative, range);
  }
  HWY_INLINE IntVec steps(IntVec acc) const {
    return hn::IfThenElse(hn::Lt(acc, hn::Zero(Ints())), negative.steps(acc), positive.steps(acc));
  }
};

/// Forms with a float32 factor.
struct FactorLanes {
  FloatVec factor;

  HWY_INLINE void set(const LaneSource& from, const CodeRange&) { factor = from.load(from.at().factor); }
  HWY_INLINE IntVec steps(IntVec acc) const {
    return nearest(hn::Min(hn::ConvertTo(Floats(), acc) * factor, hn::Set(Floats(), arith::kMostSteps)));
  }
};

/// Forms of engines. Some engines add the zero point before they round.
struct EngineLanes {
  FloatVec scale, channel_scale, bias, factor, inside;
  IntVec outside;

  HWY_INLINE void set(const LaneSource& from, const CodeRange& range) {
    scale = from.load(from.at().scale);
    channel_scale = from.load(from.at().channel_scale);
    bias = from.load(from.at().real_bias);
    factor = from.load(from.at().factor);
    outside = hn::Set(Ints(), from.at().zero_inside ? range.zero_point : 0);
    inside = hn::ConvertTo(Floats(), outside);
  }
  HWY_INLINE IntVec steps(IntVec acc) const {
    return whole_steps((hn::ConvertTo(Floats(), acc) * scale * channel_scale + bias) * factor + inside) - outside;
  }
};

/// Calls choose.template operator()<Lanes>() for general steps, and for the others.
template <class Choose>
auto lanes_of(arith::Requantization form, arith::ShiftRounding rounding, Choose&& choose) {
  using arith::ShiftRounding;
  const auto both = [&]<class General, class Plain>() {
    return std::pair(choose.template operator()<General>(), choose.template operator()<Plain>());
  };
  const auto rounded = [&]<ShiftRounding kRounding>() {
    using Lanes = RoundedLanes<kRounding>;
    return both.template operator()<TwoSidedLanes<Lanes>, Lanes>();
  };
  if (arith::traits(form).is_engine) return both.template operator()<EngineLanes, EngineLanes>();
  if (arith::traits(form).keeps_scales) return both.template operator()<FactorLanes, FactorLanes>();
  switch (rounding) {
    case ShiftRounding::half_even: return rounded.template operator()<ShiftRounding::half_even>();
    case ShiftRounding::half_away: return rounded.template operator()<ShiftRounding::half_away>();
    case ShiftRounding::doubled: return rounded.template operator()<ShiftRounding::doubled>();
    default: return both.template operator()<TwoSidedLanes<WideShiftLanes>, ShiftLanes>();
  }
}

/// a and b as int16, saturated. In every 16 bytes, the lower 8 are from a.
HWY_INLINE hn::Vec<Shorts> pack_pairs(IntVec a, IntVec b) { return hn::ReorderDemote2To(Shorts(), a, b); }
/// a and b as unsigned bytes, saturated, in the order of pack_pairs.
HWY_INLINE hn::Vec<Bytes> pack_bytes(hn::Vec<Shorts> a, hn::Vec<Shorts> b) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<Bytes>{_mm512_packus_epi16(a.raw, b.raw)};
#else
  return hn::Vec<Bytes>{_mm256_packus_epi16(a.raw, b.raw)};
#endif
}

/// Reorders 8-byte groups: those with even index first, then the others.
template <class V>
HWY_INLINE V even_groups_first(V v) {
  const hn::Repartition<int64_t, Ints> d;
  alignas(64) static constexpr int64_t kWide[] = {0, 2, 4, 6, 1, 3, 5, 7};
  alignas(64) static constexpr int64_t kNarrow[] = {0, 2, 1, 3};
  const auto order = hn::SetTableIndices(d, kIntLanes == 16 ? kWide : kNarrow);
  return hn::BitCast(hn::DFromV<V>(), hn::TableLookupLanes(hn::BitCast(d, v), order));
}

/// Converts steps to codes: kSums vectors of steps become one vector of codes.
template <class Code>
class Codes;

template <>
class Codes<uint8_t> {
 public:
  static constexpr int kSums = 4;

  explicit Codes(const CodeRange& range)
      : zero_point_(hn::Set(Shorts(), static_cast<int16_t>(range.zero_point + range.middle))),
        low_(hn::Set(Bytes(), static_cast<uint8_t>(range.clamp.low + range.middle))),
        high_(hn::Set(Bytes(), static_cast<uint8_t>(range.clamp.high + range.middle))),
        flip_(hn::Set(Bytes(), static_cast<uint8_t>(range.middle))) {}

  /// In the result, each part of 16 bytes has four codes of that part of each vector, vector by vector. Steps saturate
  /// at 16 bits. With the zero point they are then still outside of a byte.
  HWY_INLINE hn::Vec<Bytes> by_parts(const IntVec* steps) const {
    const auto ab = hn::SaturatedAdd(pack_pairs(steps[0], steps[1]), zero_point_);
    const auto cd = hn::SaturatedAdd(pack_pairs(steps[2], steps[3]), zero_point_);
    return hn::Xor(hn::Min(hn::Max(pack_bytes(ab, cd), low_), high_), flip_);
  }
  /// For vectors of which the first two and the last two are in order after they are packed as int16.
  HWY_INLINE hn::Vec<Bytes> by_halves(const IntVec* steps) const { return even_groups_first(by_parts(steps)); }
  HWY_INLINE hn::Vec<Bytes> in_order(const IntVec* steps) const {
    alignas(64) static constexpr int32_t kWide[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    alignas(64) static constexpr int32_t kNarrow[] = {0, 4, 1, 5, 2, 6, 3, 7};
    const auto order = hn::SetTableIndices(Ints(), kIntLanes == 16 ? kWide : kNarrow);
    return hn::BitCast(Bytes(), hn::TableLookupLanes(hn::BitCast(Ints(), by_parts(steps)), order));
  }

 private:
  hn::Vec<Shorts> zero_point_;
  hn::Vec<Bytes> low_, high_, flip_;
};

template <>
class Codes<uint16_t> {
 public:
  static constexpr int kSums = 2;

  /// Subtracts 2^15, so that int16 saturation ends at the range of two-byte codes.
  explicit Codes(const CodeRange& range)
      : zero_point_(hn::Set(Ints(), range.zero_point + range.middle - 32768)),
        low_(hn::Set(Words(), static_cast<uint16_t>(range.clamp.low + range.middle))),
        high_(hn::Set(Words(), static_cast<uint16_t>(range.clamp.high + range.middle))),
        flip_(hn::Set(Words(), static_cast<uint16_t>(range.middle))) {}

  HWY_INLINE hn::Vec<Words> by_parts(const IntVec* steps) const {
    const IntVec least = hn::Set(Ints(), -(1 << 30));  // stays within 32 bits with a zero point
    const auto less = pack_pairs(hn::Max(steps[0], least) + zero_point_, hn::Max(steps[1], least) + zero_point_);
    const auto codes = hn::Xor(hn::BitCast(Words(), less), hn::Set(Words(), 0x8000));
    return hn::Xor(hn::Min(hn::Max(codes, low_), high_), flip_);
  }
  HWY_INLINE hn::Vec<Words> in_order(const IntVec* steps) const { return even_groups_first(by_parts(steps)); }

 private:
  IntVec zero_point_;
  hn::Vec<Words> low_, high_, flip_;
};

/// Stores a row of codes: the first `bytes` bytes of at most kMost, which is a power of two.
template <int64_t kMost>
HWY_INLINE void store_row(const void* from, int64_t bytes, void* to) {
  if (bytes == kMost) {
    std::memcpy(to, from, kMost);
    return;
  }
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  HS_UNROLL for (int64_t part = kMost / 2; part > 0; part /= 2) {
    if ((bytes & part) == 0) continue;
    std::memcpy(target, source, static_cast<size_t>(part));
    source += part;
    target += part;
  }
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
