#include "halfstep/arith/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "halfstep/base/random.h"

namespace halfstep::arith {
namespace {

struct Row {
  float v, even, away, up;
};

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

TEST(Rounding, NanAndInfinitiesStay) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Rounding mode : {Rounding::half_even, Rounding::half_away, Rounding::half_up}) {
    EXPECT_EQ(round_to(infinity, mode), infinity);
    EXPECT_EQ(round_to(-infinity, mode), -infinity);
    EXPECT_TRUE(std::isnan(round_to(std::numeric_limits<float>::quiet_NaN(), mode)));
  }
}

// v + 1/2 is exact in double for a float of this size, where float32 would round it up to the next whole number.
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

}  // namespace
}  // namespace halfstep::arith
