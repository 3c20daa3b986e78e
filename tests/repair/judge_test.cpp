// The decision to keep a repair.
#include "halfstep/tune/repair/judge.h"

#include <gtest/gtest.h>

namespace halfstep::repair {
namespace {

TEST(RepairGains, WhatIsNearerIsKeptUnlessItIsLessRightThanChanceExplains) {
  const train::ValidationResult first{0.953, 0.050};
  EXPECT_TRUE(gains(first, first, {0.953, 0.040}, 64));
  EXPECT_TRUE(gains(first, first, {0.906, 0.037}, 64)) << "three samples of 64 are chance";
  EXPECT_FALSE(gains(first, first, {0.906, 0.037}, 1000)) << "47 of 1000 are not";
  EXPECT_FALSE(gains(first, first, {0.75, 0.037}, 64));
  EXPECT_FALSE(gains(first, first, {1.0, 0.050}, 64)) << "as near is no gain";
}

TEST(RepairGains, TheFirstValidationResultIsTheMeasureAndNotTheLast) {
  const train::ValidationResult first{0.95, 0.05}, before{0.89, 0.04};
  EXPECT_FALSE(gains(first, before, {0.80, 0.03}, 64));
  EXPECT_TRUE(gains(first, before, {0.88, 0.03}, 64));
}

TEST(RepairGains, WithoutClassesTheDistanceDecides) {
  EXPECT_TRUE(gains({{}, 0.05}, {{}, 0.05}, {{}, 0.04}, 64));
  EXPECT_FALSE(gains({{}, 0.05}, {{}, 0.05}, {{}, 0.06}, 64));
}

}  // namespace
}  // namespace halfstep::repair
