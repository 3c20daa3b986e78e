#include "halfstep/core/arith/accumulator.h"

#include <gtest/gtest.h>

#include "halfstep/core/arith/bias.h"
#include "halfstep/core/arith/multiplier.h"

namespace halfstep::arith {
namespace {

// A6.1
TEST(Accumulator, BoundIsReached) {
  // 4608 products of 8-bit weights and 12-bit activations: 4608 * 127 * 4095 exceeds 2^31.
  EXPECT_EQ(accumulator_bound(4608 * 127, 0, 4095, 0, 0), 2396459520);
  EXPECT_GT(accumulator_bound(4608 * 127, 0, 4095, 0, 0), kMostInInt32);
  EXPECT_LE(accumulator_bound(4608 * 127, 0, 255, 0, kMaxBiasCode), kMostInInt32);
  EXPECT_EQ(accumulator_bound(10, 0, 255, 200, -7), 10 * 200 + 7);
}

// A6.1
TEST(Accumulator, FarthestStepIsOfEitherEnd) {
  EXPECT_EQ(farthest_step(0, 255, 0), 255);
  EXPECT_EQ(farthest_step(0, 255, 200), 200);
  EXPECT_EQ(farthest_step(0, 65535, 65535), 65535);
  EXPECT_EQ(farthest_step(0, 255, 65535), 65535);
}

/// A product of two 16-bit operands fits. Its product with any multiplier fits in int64.
// A4.3, A6.1
TEST(Accumulator, FormsWithMultipliersTakeSumsOfProductsOfSixteenBits) {
  EXPECT_LE(int64_t{32769} * 65535 * 65535, most_accumulated(Requantization::fixed_point));
  EXPECT_EQ(most_accumulated(Requantization::power_of_two), most_accumulated(Requantization::fixed_point));
  EXPECT_LE(static_cast<__int128>(kMostMultiplied) * INT32_MAX, INT64_MAX);
  EXPECT_LE(upper_product(kMostScaled, INT32_MAX), INT64_MAX / 2);
  for (const auto form : {Requantization::float32, Requantization::fbgemm, Requantization::x86})
    EXPECT_EQ(most_accumulated(form), kMostInInt32);
}

}  // namespace
}  // namespace halfstep::arith
