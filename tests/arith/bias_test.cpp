#include "halfstep/core/arith/bias.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/base/random.h"

namespace halfstep::arith {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A4.12
TEST(BiasCode, RoundsHalfToEvenInDouble) {
  EXPECT_EQ(bias_code(2.5F, 1.0F, 1.0F), 2);
  EXPECT_EQ(bias_code(3.5F, 1.0F, 1.0F), 4);
  EXPECT_EQ(bias_code(-2.5F, 1.0F, 1.0F), -2);
  EXPECT_EQ(bias_code(1.0F, 0.5F, 0.25F), 8);
}

// A4.12
TEST(BiasCode, StaysWithinItsBoundForAnything) {
  EXPECT_EQ(bias_code(kInfinity, 1.0F, 1.0F), kMaxBiasCode);
  EXPECT_EQ(bias_code(-kInfinity, 1.0F, 1.0F), -kMaxBiasCode);
  EXPECT_EQ(bias_code(1.0F, 0.0F, 1.0F), kMaxBiasCode);
  EXPECT_EQ(bias_code(0.0F, 0.0F, 1.0F), 0);
  EXPECT_EQ(bias_code(std::numeric_limits<float>::quiet_NaN(), 1.0F, 1.0F), 0);
}

double unclamped(float b, float x_scale, float w_scale) {
  return std::nearbyint(static_cast<double>(b) / (static_cast<double>(x_scale) * static_cast<double>(w_scale)));
}

float random_scale(Random& random, int lowest, int count) {
  return std::ldexp(1.0F + random.uniform(), lowest + static_cast<int>(random.below(static_cast<uint64_t>(count))));
}

// A4.12
TEST(RaiseScale, BiasFitsAfterwardsAndTheScaleIsTheSmallest) {
  Random random(1, 0);
  int raised = 0;
  for (int i = 0; i < 50000; ++i) {
    const float w = random_scale(random, -60, 60);
    const float x = random_scale(random, -30, 30);
    const float b = random.normal() * random_scale(random, -10, 20);
    const float result = raise_scale(w, b, x, false);
    ASSERT_GE(result, w);
    ASSERT_LE(std::fabs(unclamped(b, x, result)), kMaxBiasCode);
    if (result == w) continue;
    ++raised;
    ASSERT_GT(std::fabs(static_cast<double>(b)) / (static_cast<double>(x) * std::nextafterf(result, 0.0F)),
              kMaxBiasCode);
  }
  EXPECT_GT(raised, 1000);
}

// A4.12
TEST(RaiseScale, PowersOfTwoStayPowersOfTwo) {
  Random random(2, 0);
  for (int i = 0; i < 20000; ++i) {
    const float w = std::ldexp(1.0F, -static_cast<int>(random.below(60)));
    const float x = random_scale(random, -30, 30);
    const float b = random.normal() * random_scale(random, -10, 20);
    const float result = raise_scale(w, b, x, true);
    int exponent = 0;
    ASSERT_EQ(std::frexp(result, &exponent), 0.5F);
    ASSERT_LE(std::fabs(unclamped(b, x, result)), kMaxBiasCode);
    ASSERT_TRUE(result == w || std::fabs(unclamped(b, x, result / 2)) > kMaxBiasCode);
  }
}

TEST(RaiseScale, LeavesWhatFits) {
  EXPECT_EQ(raise_scale(0.01F, 1.0F, 0.02F, false), 0.01F);
  EXPECT_EQ(raise_scale(1e-30F, 0.0F, 0.02F, true), 1e-30F);
  EXPECT_EQ(raise_scale(0.5F, std::numeric_limits<float>::quiet_NaN(), 0.02F, false), 0.5F);
}

}  // namespace
}  // namespace halfstep::arith
