#include "halfstep/core/base/element_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halfstep {
namespace {

TEST(Elements, WhatATypeCanHold) {
  EXPECT_TRUE(can_hold(DType::i64, -0x1p63));
  EXPECT_FALSE(can_hold(DType::i64, 0x1p63));
  EXPECT_FALSE(can_hold(DType::i64, 1.13337e23));
  EXPECT_TRUE(can_hold(DType::u64, 0x1p63));
  EXPECT_FALSE(can_hold(DType::u64, -1));
  EXPECT_TRUE(can_hold(DType::u8, 255.9));
  EXPECT_TRUE(can_hold(DType::u8, -0.9));
  EXPECT_FALSE(can_hold(DType::u8, 256));
  EXPECT_TRUE(can_hold(DType::i4, -8));
  EXPECT_FALSE(can_hold(DType::i4, 8));
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(can_hold(DType::i32, number));
    EXPECT_TRUE(can_hold(DType::f32, number));
    EXPECT_TRUE(can_hold(DType::f8_e4m3fn, number));
    EXPECT_TRUE(can_hold(DType::boolean, number));
  }
}

}  // namespace
}  // namespace halfstep
