// Scalar functions of the records that do not come from the C library.
#include "halfstep/core/arith/scalar.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace halfstep::arith {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A11.4
TEST(Scalar, QuotientsOfIntegersGoTowardsZeroAndAreNeverUndefined) {
  EXPECT_EQ(quotient_of<int32_t>(-7, 2), -3);
  EXPECT_EQ(quotient_of<int32_t>(7, 0), 0);
  EXPECT_EQ(quotient_of(std::numeric_limits<int32_t>::min(), int32_t{-1}), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(quotient_of<uint8_t>(200, 255), 0);
  EXPECT_EQ(quotient_of(1.0F, 4.0F), 0.25F);
}

// A11.6
TEST(Scalar, ExtremesKeepANaNOfTheFirst) {
  EXPECT_TRUE(std::isnan(min_of(kNan, 1.0F)));
  EXPECT_TRUE(std::isnan(max_of(kNan, 1.0F)));
  EXPECT_EQ(min_of(1.0F, kNan), 1.0F);
  EXPECT_EQ(max_of(2, 3), 3);
  EXPECT_EQ(min_of(2, 3), 2);
}

TEST(Scalar, MagnitudesAndIntegers) {
  EXPECT_EQ(abs_of(-2.5F), 2.5F);
  EXPECT_EQ(abs_of(uint16_t{7}), 7);
  EXPECT_EQ(rint_of(2.5), 2.0);
  EXPECT_EQ(rint_of(3.5F), 4.0F);
  EXPECT_EQ(sigmoid_of(0.0), 0.5);
}

}  // namespace
}  // namespace halfstep::arith
