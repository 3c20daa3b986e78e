#include "halfstep/core/arith/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/arith/code.h"
#include "halfstep/core/base/random.h"

namespace halfstep::arith {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<CodeGrid> grids() {
  std::vector<CodeGrid> all;
  for (const bool power_of_two : {false, true}) {
    all.push_back({0, 255, ZeroPoints::affine, power_of_two});
    all.push_back({0, 3, ZeroPoints::affine, power_of_two});
    all.push_back({-127, 127, ZeroPoints::symmetric, power_of_two});
    all.push_back({-8, 7, ZeroPoints::symmetric, power_of_two});
    all.push_back({0, 255, ZeroPoints::offset, power_of_two});
    all.push_back({0, 4095, ZeroPoints::offset, power_of_two});
  }
  return all;
}

bool is_power_of_two(float v) {
  int exponent = 0;
  return std::frexp(v, &exponent) == 0.5F;
}

// A3.1
TEST(ParametersOf, ZeroIsExactAndTheRangeIsCovered) {
  Random random(1, 0);
  for (const CodeGrid& grid : grids()) {
    for (int i = 0; i < 5000; ++i) {
      const float unit = std::ldexp(1.0F, static_cast<int>(random.below(40)) - 20);
      const float a = random.normal() * unit;
      const float b = random.normal() * unit;
      const float low = std::min(a, b), high = std::max(a, b);
      const auto [scale, zero_point] = parameters_of(low, high, grid);
      const CodeRule rule{grid.code_min, grid.code_max};
      ASSERT_GE(zero_point, grid.code_min);
      ASSERT_LE(zero_point, grid.code_max);
      ASSERT_EQ(real_of(code_of(0.0F, scale, zero_point, rule), scale, zero_point), 0.0F);
      const double slack = (grid.zero_points == ZeroPoints::affine ? 0.5 : 0.0) * scale + 1e-5 * unit;
      ASSERT_LE(real_of(grid.code_min, scale, zero_point), low + slack);
      ASSERT_GE(real_of(grid.code_max, scale, zero_point), high - slack);
      ASSERT_TRUE(!grid.power_of_two || is_power_of_two(scale));
    }
  }
}

// A3.1
TEST(ParametersOf, WrittenOutCases) {
  const auto expect = [](AffineParameters got, float scale, int32_t zero_point) {
    EXPECT_EQ(got.scale, scale);
    EXPECT_EQ(got.zero_point, zero_point);
  };
  expect(parameters_of(-1, 4, {0, 5}), 1, 1);
  expect(parameters_of(2, 5, {0, 5}), 1, 0);  // 0 belongs to the range
  expect(parameters_of(-5, -2, {0, 5}), 1, 5);
  expect(parameters_of(-3, 254, {-127, 127, ZeroPoints::symmetric}), 2, 0);
  expect(parameters_of(-3, 2, {-8, 7, ZeroPoints::symmetric}), static_cast<float>(3.0 / 7.0), 0);
  expect(parameters_of(-3, 2, {-8, 7, ZeroPoints::centered}), 0.4F, 0);  // 3 is 7.5 steps
  expect(parameters_of(0, 51, {0, 255, ZeroPoints::offset}), static_cast<float>(51.0 / 255.0), 0);
  expect(parameters_of(-1, 127, {0, 255, ZeroPoints::offset}), 1, 128);
  expect(parameters_of(-128, 127, {0, 255, ZeroPoints::offset}), 1, 128);
  expect(parameters_of(0, 300, {0, 255, ZeroPoints::affine, true}), 2, 0);
  expect(parameters_of(0, 255, {0, 255, ZeroPoints::affine, true}), 1, 0);  // a power of two stays
}

// A3.2
TEST(ParametersOf, EmptyAndConstantZeroRangesHaveTheSmallestScale) {
  for (const CodeGrid& grid : grids()) {
    EXPECT_EQ(parameters_of(0, 0, grid).scale, kSmallestScale);
    EXPECT_EQ(parameters_of(kNan, kNan, grid).scale, kSmallestScale);
    EXPECT_EQ(parameters_of(-1e-40F, 1e-40F, grid).scale, kSmallestScale);
  }
}

TEST(ParametersOf, AreFiniteForAnyRangeAndGrid) {
  auto all = grids();
  all.push_back({0, 255, ZeroPoints::symmetric});
  all.push_back({-255, 0, ZeroPoints::symmetric});
  all.push_back({-1, 0, ZeroPoints::symmetric});
  all.push_back({0, 1, ZeroPoints::offset});
  all.push_back({0, 1, ZeroPoints::affine, true});
  const std::vector<float> ends = {-kInfinity, -kLargest, -1.0F, 0.0F, 1.0F, kLargest, kInfinity, kNan};
  for (const CodeGrid& grid : all) {
    for (const float low : ends) {
      for (const float high : ends) {
        const auto [scale, zero_point] = parameters_of(low, high, grid);
        EXPECT_TRUE(std::isfinite(scale) && scale >= kSmallestScale) << low << " " << high;
        EXPECT_TRUE(zero_point >= std::min(grid.code_min, 0) && zero_point <= std::max(grid.code_max, 0));
      }
    }
  }
}

// A2.7, A3.2
TEST(NearestPowerOfTwo, InTheLogarithm) {
  EXPECT_EQ(nearest_power_of_two(1.0F), 1.0F);
  EXPECT_EQ(nearest_power_of_two(1.4142135F), 1.0F);  // the float below the square root of 2
  EXPECT_EQ(nearest_power_of_two(1.4142137F), 2.0F);
  EXPECT_EQ(nearest_power_of_two(0x1.6ap-100F), 0x1p-100F);
  EXPECT_EQ(nearest_power_of_two(1e-45F), 0x1p-149F);
  EXPECT_EQ(nearest_power_of_two(kLargest), 0x1p127F);
  EXPECT_EQ(nearest_power_of_two(kInfinity), 0x1p127F);
  for (const float scale : {0.0F, -1.0F, kNan, -kInfinity}) EXPECT_EQ(nearest_power_of_two(scale), kSmallestScale);
}

TEST(ZeroPoints, Names) {
  EXPECT_EQ(parse_zero_points("affine"), ZeroPoints::affine);
  EXPECT_EQ(parse_zero_points("symmetric"), ZeroPoints::symmetric);
  EXPECT_EQ(parse_zero_points("centered"), ZeroPoints::centered);
  EXPECT_EQ(parse_zero_points("offset"), ZeroPoints::offset);
  EXPECT_EQ(parse_zero_points("none"), std::nullopt);
}

TEST(ZeroPoints, HaveNames) {
  EXPECT_EQ(parse_zero_points("affine"), ZeroPoints::affine);
  EXPECT_EQ(parse_zero_points("symmetric"), ZeroPoints::symmetric);
  EXPECT_EQ(parse_zero_points("offset"), ZeroPoints::offset);
  EXPECT_EQ(parse_zero_points("none"), std::nullopt);
}

}  // namespace
}  // namespace halfstep::arith
