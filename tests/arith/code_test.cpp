#include "halfstep/core/arith/code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halfstep::arith {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A2.1
TEST(Code, ClampsToTheRange) {
  const CodeRule rule{-8, 7};
  EXPECT_EQ(code_of(3.4F, 1.0F, 2, rule), 5);
  EXPECT_EQ(code_of(1e9F, 1.0F, 2, rule), 7);
  EXPECT_EQ(code_of(-1e9F, 1.0F, 2, rule), -8);
  EXPECT_EQ(code_of(kInfinity, 1.0F, 0, rule), 7);
  EXPECT_EQ(code_of(-kInfinity, 1.0F, 0, rule), -8);
}

// A2.3
TEST(Code, NanGivesTheLowestCode) {
  EXPECT_EQ(code_of(kNan, 1.0F, 0, {3, 9}), 3);
  EXPECT_EQ(code_of(0.0F, 0.0F, 0, {3, 9}), 3);  // 0 / 0
  EXPECT_EQ(code_of(1.0F, 0.0F, 0, {3, 9}), 9);  // 1 / 0
}

// 1 / 3f is rounded, so a value of 7.5 steps by division is not 7.5 steps by the product.
// A2.1
TEST(Code, TheReciprocalIsRoundedFirst) {
  int differing = 0;
  for (int k = 0; k < 1000; ++k) {
    const float x = (static_cast<float>(k) + 0.5F) * 0.7F;
    EXPECT_EQ(steps_of(x, 0.7F, {.reciprocal = true}), x * (1.0F / 0.7F));
    EXPECT_EQ(steps_of(x, 0.7F, {}), x / 0.7F);
    differing += steps_of(x, 0.7F, {}) != steps_of(x, 0.7F, {.reciprocal = true});
  }
  EXPECT_GT(differing, 10);
}

// A2.4
TEST(Code, GradientPassesOnTheEdgesToo) {
  const CodeRule rule{0, 15};
  EXPECT_TRUE(passes_gradient(0.0F, rule));
  EXPECT_TRUE(passes_gradient(15.0F, rule));
  EXPECT_FALSE(passes_gradient(-1.0F, rule));
  EXPECT_FALSE(passes_gradient(16.0F, rule));
  EXPECT_FALSE(passes_gradient(kNan, rule));
}

// A2.5
TEST(Code, SlopeOfTheScale) {
  const CodeRule rule{0, 15};
  EXPECT_EQ(scale_slope(2.25F, 6.0F, 4, rule), 2.0 - 2.25);
  EXPECT_EQ(scale_slope(-9.0F, -5.0F, 4, rule), -4.0);
  EXPECT_EQ(scale_slope(kInfinity, kInfinity, 4, rule), 11.0);
}

// A2.1
TEST(Code, EveryCodeComesBack) {
  const CodeRule rule{-128, 127};
  for (const float scale : {0.03F, 0.5F, 1e-3F, 7.0F}) {
    for (int32_t code = -128; code <= 127; ++code) EXPECT_EQ(code_of(real_of(code, scale, 5), scale, 5, rule), code);
  }
}

TEST(Code, ExtremeZeroPointsDoNotOverflow) {
  EXPECT_EQ(real_of(255, 1.0F, std::numeric_limits<int32_t>::min()), 0x1p31F + 256.0F);
}

}  // namespace
}  // namespace halfstep::arith
