// The float32 form of requantization: every operation rounds to float32, and steps half to even.
#include "halfstep/arith/float_requantize.h"

#include <gtest/gtest.h>

#include <limits>

namespace halfstep::arith {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(FloatRequantize, FactorsGoFromLeftToRight) {
  EXPECT_EQ(float_product_factor(0.1F, 0.3F, 0.7F), (0.1F * 0.3F) / 0.7F);
  EXPECT_EQ(float_pool_factor(0.1F, 0.7F, 9.0F), 0.1F / (0.7F * 9.0F));
}

TEST(FloatRequantize, StepsAreWholeNumbersHalfToEven) {
  EXPECT_EQ(whole_steps(0.5F), 0);
  EXPECT_EQ(whole_steps(1.5F), 2);
  EXPECT_EQ(whole_steps(-2.5F), -2);
}

TEST(FloatRequantize, StepsSaturateFarBeyondAnyCode) {
  for (const float steps : {1e30F, kInfinity, 0x1p31F}) {
    EXPECT_EQ(whole_steps(steps), 1 << 30);
    EXPECT_EQ(whole_steps(-steps), -(1 << 30));
  }
}

TEST(FloatRequantize, AccumulatorsBecomeFloatsInOneRounding) {
  EXPECT_EQ(scale_float((1 << 24) + 1, 1.0F), 1 << 24);
  EXPECT_EQ(scale_float((1 << 24) + 3, 1.0F), (1 << 24) + 4);
  EXPECT_EQ(scale_float(-7, 0.5F), -4);
}

/// A product adds the zero point before it rounds, a layer behind it.
TEST(FloatRequantize, ZeroPointsOfProductsAreInsideTheRounding) {
  EXPECT_EQ(float_product_code(1, 0.5F, 1), 2);
  EXPECT_EQ(scale_float(1, 0.5F) + 1, 1);
}

TEST(FloatSum, AddsBothInStepsOfTheResult) {
  const FloatSum sum = FloatSum::of(0.5F, 4, 0.25F, 2, 0.5F, 3);
  EXPECT_EQ(sum.a_ratio, 1.0F);
  EXPECT_EQ(sum.b_ratio, 0.5F);
  EXPECT_EQ(sum.offset, 3.0F - 5.0F);
  EXPECT_EQ(sum.steps(6, 3), 5.5F);
  EXPECT_EQ(sum.code(6, 3), 6);
  EXPECT_EQ(sum.code(4, 2), 3);  // 0 + 0
}

}  // namespace
}  // namespace halfstep::arith
