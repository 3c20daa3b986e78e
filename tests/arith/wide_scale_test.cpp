// Accumulators whose product with a multiplier exceeds 64 bits, compared with 128-bit integers.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/arith/multiplier.h"
#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/random.h"

namespace halfstep::arith {
namespace {

using Wide = __int128;

/// v / 2^shift by the rule of docs/arithmetic.md, section 1.
Wide shifted(Wide v, int32_t shift, ShiftRounding rounding) {
  if (rounding == ShiftRounding::doubled && shift > 31)
    return shifted(shifted(v, 31, ShiftRounding::half_up), shift - 31, ShiftRounding::half_away);
  const Wide whole = Wide{1} << shift, rest = (v % whole + whole) % whole, floor = (v - rest) / whole;
  bool up = 2 * rest > whole;
  if (2 * rest == whole)
    up = rounding == ShiftRounding::half_even ? floor % 2 != 0 : rounding != ShiftRounding::half_away || v >= 0;
  return floor + (up && rounding != ShiftRounding::truncate ? 1 : 0);
}

/// Beyond this, `scale` only guarantees the side on which a value lies.
constexpr int64_t kFarthest = int64_t{1} << 45;

void expect_exact(int64_t acc, Multiplier factor, ShiftRounding rounding) {
  const Wide exact = shifted(Wide{acc} * factor.m, factor.shift, rounding);
  const auto held = static_cast<int64_t>(std::clamp<Wide>(exact, -kFarthest, kFarthest));
  ASSERT_EQ(std::clamp(scale(acc, factor, rounding), -kFarthest, kFarthest), held)
      << acc << " * " << factor.m << " >> " << factor.shift << " " << kShiftRoundings[static_cast<size_t>(rounding)];
}

/// The limits of the 64-bit product and of the accepted range, ties, and the neighbours of all of them.
std::vector<int64_t> edges() {
  std::vector<int64_t> all = {0, int64_t{65535} * 65535, int64_t{64} * 65535 * 65535};
  for (int bit = 14; bit <= 47; ++bit) all.push_back(int64_t{1} << bit);
  std::vector<int64_t> found;
  for (const int64_t acc : all) {
    for (const int64_t near : {acc - 1, acc, acc + 1}) {
      if (near > kMostScaled) continue;
      found.push_back(near);
      found.push_back(-near);
    }
  }
  return found;
}

class WideScale : public testing::TestWithParam<std::string_view> {
 protected:
  ShiftRounding rounding() const { return *parse_shift_rounding(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Roundings, WideScale, testing::ValuesIn(kShiftRoundings),
                         [](const auto& c) { return std::string(c.param); });

// A4.3
TEST_P(WideScale, IsExactAtEveryEdge) {
  for (const int32_t m : {0, 1, 2, 3, (1 << 14) + 1, 65535, 65536, 65537, 1 << 30, (1 << 30) + 1, INT32_MAX}) {
    for (int32_t shift = kMinShift; shift <= kMaxShift; ++shift) {
      for (const int64_t acc : edges()) expect_exact(acc, {m, shift}, rounding());
    }
  }
}

// A4.3
TEST_P(WideScale, IsExactOnRandomAccumulators) {
  Random random(47, static_cast<uint64_t>(rounding()));
  const auto bits = [&] { return (uint64_t{random.bits()} << 32) | random.bits(); };
  for (int i = 0; i < 400000; ++i) {
    const auto most = static_cast<int64_t>(uint64_t{1} << (48 - random.below(16)));
    const auto acc = static_cast<int64_t>(bits() % static_cast<uint64_t>(2 * most)) - most;
    const auto m = static_cast<int32_t>(bits() >> (33 + random.below(17)));
    expect_exact(std::clamp(acc, -kMostScaled, kMostScaled), {m, 1 + static_cast<int32_t>(random.below(62))},
                 rounding());
  }
}

/// Products that are a tie or next to one. The deciding bits may lie among those that are dropped first.
// A4.3
TEST_P(WideScale, IsExactNextToTies) {
  Random random(48, static_cast<uint64_t>(rounding()));
  for (int32_t shift = kDroppedBits + 1; shift <= kMaxShift; ++shift) {
    for (int i = 0; i < 2000; ++i) {
      const int32_t m = (static_cast<int32_t>(random.below(1 << 30)) | (1 << 30)) & (i % 2 == 0 ? -65536 : -1);
      const Wide tie =
          (Wide{2 * static_cast<int64_t>(random.below(1 << 30)) + 1} << (shift - 1)) * (i % 4 < 2 ? 1 : -1);
      const auto near = static_cast<int64_t>(std::clamp<Wide>(tie / m, -kMostScaled + 1, kMostScaled - 1));
      for (const int64_t acc : {near - 1, near, near + 1}) expect_exact(acc, {m, shift}, rounding());
    }
    const int32_t half = 1 << 30;  // its products are ties
    for (int64_t k = 1; shift > 30 && k < 2000; k += 2)
      for (const int64_t acc : {k << (shift - 31), -(k << (shift - 31))})
        if (std::abs(acc) <= kMostScaled) expect_exact(acc, {half, shift}, rounding());
  }
}

/// A value outside the range of codes stays on its side, also after the zero point is added.
// A4.3
TEST_P(WideScale, KeepsTheSideOfWhatIsBeyondAllCodes) {
  constexpr Clamp kCodes = {-32768, 65535};
  for (int32_t shift = kMinShift; shift < kDroppedBits + kLeastRest; ++shift) {
    for (const int32_t m : {65536, 1 << 30, INT32_MAX}) {
      const FixedScale scale{{m, shift}, {m, shift}, rounding()};
      for (const int32_t zero_point : {-32768, 0, 65535}) {
        EXPECT_EQ(kCodes.apply(scale.code(kMostScaled, zero_point)), kCodes.high);
        EXPECT_EQ(kCodes.apply(scale.code(-kMostScaled, zero_point)), kCodes.low);
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::arith
