#include "halfstep/core/arith/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

#include "halfstep/core/base/random.h"

namespace halfstep::arith {
namespace {

struct Row {
  float v, even, away, up;
};

// A1.1, A1.2
TEST(Rounding, TiesAndTheirNeighbours) {
  const std::vector<Row> rows = {{0.5F, 0, 1, 1},
                                 {1.5F, 2, 2, 2},
                                 {2.5F, 2, 3, 3},
                                 {-0.5F, 0, -1, 0},
                                 {-1.5F, -2, -2, -1},
                                 {-2.5F, -2, -3, -2},
                                 {0.49999997F, 0, 0, 0},
                                 {-0.49999997F, 0, 0, 0},
                                 {0.50000006F, 1, 1, 1},
                                 {-0.50000006F, -1, -1, -1},
                                 {2.4999998F, 2, 2, 2},
                                 {-2.5000002F, -3, -3, -3},
                                 {4194303.5F, 4194304, 4194304, 4194304},
                                 {-4194303.5F, -4194304, -4194304, -4194303},
                                 {4194304.5F, 4194304, 4194305, 4194305},
                                 {8388609.0F, 8388609, 8388609, 8388609},
                                 {-8388609.0F, -8388609, -8388609, -8388609},
                                 {3e30F, 3e30F, 3e30F, 3e30F}};
  for (const Row& row : rows) {
    EXPECT_EQ(round_to(row.v, Rounding::half_even), row.even) << row.v;
    EXPECT_EQ(round_to(row.v, Rounding::half_away), row.away) << row.v;
    EXPECT_EQ(round_to(row.v, Rounding::half_up), row.up) << row.v;
  }
}

// A1.3
TEST(Rounding, NanAndInfinitiesStay) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Rounding mode : {Rounding::half_even, Rounding::half_away, Rounding::half_up}) {
    EXPECT_EQ(round_to(infinity, mode), infinity);
    EXPECT_EQ(round_to(-infinity, mode), -infinity);
    EXPECT_TRUE(std::isnan(round_to(std::numeric_limits<float>::quiet_NaN(), mode)));
  }
}

// v + 1/2 is exact in double for a float of this size. In float32 it would round up to the next integer.
// A1.2
TEST(Rounding, HalfUpIsTheFloorOfTheExactSum) {
  Random random(1, 0);
  for (int i = 0; i < 200000; ++i) {
    const auto v = std::bit_cast<float>(random.bits());
    if (!(std::fabs(v) < 0x1p24F) || std::fabs(v) < 0x1p-20F) continue;
    ASSERT_EQ(round_to(v, Rounding::half_up), static_cast<float>(std::floor(static_cast<double>(v) + 0.5))) << v;
  }
}

TEST(Rounding, Names) {
  EXPECT_EQ(parse_rounding("half_even"), Rounding::half_even);
  EXPECT_EQ(parse_rounding("half_away"), Rounding::half_away);
  EXPECT_EQ(parse_rounding("half_up"), Rounding::half_up);
  EXPECT_EQ(parse_rounding("floor"), std::nullopt);
}

/// v / 2^shift by the rule, in 128 bits.
int64_t rounded(int64_t v, int32_t shift, ShiftRounding rounding) {
  const __int128 wide = v, half = static_cast<__int128>(1) << (shift - 1), whole = half * 2;
  const __int128 floor = v >= 0 ? wide / whole : -((-wide + whole - 1) / whole);
  const __int128 twice = (wide - floor * whole) * 2;  // the remainder, in halves
  if (rounding == ShiftRounding::doubled && shift > 31)
    return rounded(rounded(v, 31, ShiftRounding::half_up), shift - 31, ShiftRounding::half_away);
  bool up = twice > whole;
  if (twice == whole)
    up = rounding == ShiftRounding::half_up || rounding == ShiftRounding::doubled ||
         (rounding == ShiftRounding::half_even && floor % 2 != 0) || (rounding == ShiftRounding::half_away && v >= 0);
  return static_cast<int64_t>(floor + (up && rounding != ShiftRounding::truncate ? 1 : 0));
}

// A1.4
TEST(ShiftRight, FollowsTheRuleForAnyNumber) {
  Random random(5, 0);
  for (size_t r = 0; r < std::size(kShiftRoundings); ++r) {
    const auto rounding = *parse_shift_rounding(kShiftRoundings[r]);
    for (int32_t shift = 1; shift <= 62; ++shift) {
      for (const int64_t v : {int64_t{0}, INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{1}})
        ASSERT_EQ(shift_right(v, shift, rounding), rounded(v, shift, rounding)) << v << " " << shift << " " << r;
      for (int i = 0; i < 2000; ++i) {
        int64_t v = static_cast<int64_t>((uint64_t{random.bits()} << 32) | random.bits()) >> random.below(63);
        if (i % 2 == 0) v &= ~((int64_t{1} << (shift - 1)) - 1);  // a tie, or an integer
        ASSERT_EQ(shift_right(v, shift, rounding), rounded(v, shift, rounding)) << v << " " << shift << " " << r;
      }
    }
  }
}

// A1.4
TEST(ShiftRight, TiesByHand) {
  const auto ties = [](ShiftRounding rounding) {
    std::vector<int64_t> found;
    for (const int64_t v : {1, 3, -1, -3}) found.push_back(shift_right(v, 1, rounding));
    return found;
  };
  EXPECT_EQ(ties(ShiftRounding::half_up), (std::vector<int64_t>{1, 2, 0, -1}));
  EXPECT_EQ(ties(ShiftRounding::half_even), (std::vector<int64_t>{0, 2, 0, -2}));
  EXPECT_EQ(ties(ShiftRounding::half_away), (std::vector<int64_t>{1, 2, -1, -2}));
  EXPECT_EQ(ties(ShiftRounding::truncate), (std::vector<int64_t>{0, 1, -1, -2}));
  // Double rounding: 0.4999... of a step becomes a half, and the half becomes a whole step.
  EXPECT_EQ(shift_right((int64_t{1} << 31) - 1, 32, ShiftRounding::half_up), 0);
  EXPECT_EQ(shift_right((int64_t{1} << 31) - 1, 32, ShiftRounding::doubled), 1);
}

}  // namespace
}  // namespace halfstep::arith
