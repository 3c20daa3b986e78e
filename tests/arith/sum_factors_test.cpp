#include "halfstep/arith/sum_factors.h"

#include <gtest/gtest.h>

namespace halfstep::arith {
namespace {

TEST(SumFactors, PowersOfTwoAreExactAsLongAsBothFit) {
  const auto form = Requantization::power_of_two;
  const auto pair = to_sum_factors(0.5, 0x1p-30, form, 31);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a, 1 << 30);
  EXPECT_EQ(pair->b, 2);
  EXPECT_EQ(pair->shift, 31);
}

/// A summand whose steps are far below those of the sum says nothing, in any form with shifts.
TEST(SumFactors, TheSmallerMayHaveAnyMagnitude) {
  for (const auto form : {Requantization::fixed_point, Requantization::power_of_two}) {
    const auto pair = to_sum_factors(0x1p-2, 0x1p-35, form, 31);
    ASSERT_TRUE(pair);
    EXPECT_EQ(pair->a, 1 << 30);
    EXPECT_EQ(pair->b, 0);
    EXPECT_FALSE(to_sum_factors(0x1p-2, 0.0, form, 31));
    EXPECT_FALSE(to_sum_factors(0x1p-40, 0x1p-35, form, 31));
  }
}

TEST(SumFactors, PowerOfTwoTakesNothingElse) {
  EXPECT_TRUE(to_sum_factors(0.5, 0.75, Requantization::fixed_point, 31));
  EXPECT_FALSE(to_sum_factors(0.5, 0.75, Requantization::power_of_two, 31));
  EXPECT_FALSE(to_sum_factors(0.75, 0.5, Requantization::power_of_two, 31));
}

}  // namespace
}  // namespace halfstep::arith
