#include "halfstep/core/arith/multiplier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/base/random.h"

namespace halfstep::arith {
namespace {

__int128 floor_half_up(int64_t acc, Multiplier factor) {
  const __int128 product = static_cast<__int128>(acc) * factor.m + (static_cast<__int128>(1) << (factor.shift - 1));
  return product >> factor.shift;
}

// A4.1
TEST(Multiplier, StoredVectors) {
  EXPECT_EQ(to_multiplier(0.0123, 15), (Multiplier{25795, 21}));
  EXPECT_EQ(to_multiplier(0.0123, 31), (Multiplier{1690499128, 37}));
  EXPECT_EQ(to_multiplier(0.5, 15), (Multiplier{16384, 15}));
  EXPECT_EQ(to_multiplier(0.5, 31), (Multiplier{1 << 30, 31}));
  EXPECT_EQ(to_multiplier(1.0 / 3.0, 15), (Multiplier{21845, 16}));
  EXPECT_EQ(to_multiplier(1.0 / 3.0, 31), (Multiplier{1431655765, 32}));
  EXPECT_EQ(to_multiplier(1.7, 15), (Multiplier{27853, 14}));
  EXPECT_EQ(to_multiplier(1.7, 31), (Multiplier{1825361101, 30}));
  EXPECT_EQ(to_multiplier(0.9999999, 15), (Multiplier{16384, 14}));  // rounds up to 2^15
  EXPECT_EQ(to_multiplier(0.9999999, 31), (Multiplier{2147483433, 31}));
}

// A4.1
TEST(Multiplier, IsNormalizedAndNearest) {
  Random random(1, 0);
  for (int i = 0; i < 20000; ++i) {
    const int bits = 15 + static_cast<int>(random.below(17));
    const double factor = std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(40)) - 30);
    const auto found = to_multiplier(factor, bits);
    if (bits - 1 - std::ilogb(factor) < 2) continue;  // the carry may leave the range
    ASSERT_TRUE(found) << factor << " " << bits;
    ASSERT_GE(found->m, int64_t{1} << (bits - 1));
    ASSERT_LT(found->m, int64_t{1} << bits);
    ASSERT_LE(std::fabs(std::ldexp(factor, found->shift) - found->m), 0.5);
  }
}

// A4.2
TEST(Multiplier, ShiftsOutsideTheirRangeAndNonsenseGiveNothing) {
  EXPECT_EQ(to_multiplier(0x1p-32, 31)->shift, 62);
  EXPECT_EQ(to_multiplier(0x1p-33, 31), std::nullopt);
  EXPECT_EQ(to_multiplier(0x1p29, 31)->shift, 1);
  EXPECT_EQ(to_multiplier(0x1p30, 31), std::nullopt);
  EXPECT_EQ(to_multiplier(std::nextafter(0x1p30, 0.0), 31), std::nullopt);  // carried up to 2^30
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double factor : {0.0, -1.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 5e-324})
    EXPECT_EQ(to_multiplier(factor, 31), std::nullopt) << factor;
}

// A4.11
TEST(MultiplierPair, TheLargerSetsTheShift) {
  const auto pair = to_multiplier_pair(0.25, 0.75, 31);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->shift, 31);
  EXPECT_EQ(pair->a, 1 << 29);
  EXPECT_EQ(pair->b, 3 << 29);
  const auto tiny = to_multiplier_pair(0.5, 1e-30, 31);
  ASSERT_TRUE(tiny);
  EXPECT_EQ(tiny->b, 0);
  EXPECT_FALSE(to_multiplier_pair(0.5, 0.0, 31));
}

TEST(Scale, StoredVectors) {
  for (const int bits : {15, 31}) {
    const Multiplier half = *to_multiplier(0.5, bits);
    EXPECT_EQ(scale(5, half), 3);
    EXPECT_EQ(scale(-5, half), -2);
    EXPECT_EQ(scale(3, half), 2);
    EXPECT_EQ(scale(-3, half), -1);
    const Multiplier small = *to_multiplier(0.0123, bits);
    EXPECT_EQ(scale(1000, small), 12);
    EXPECT_EQ(scale(-1000, small), -12);
  }
}

// A4.1
TEST(Scale, EqualsTheExactFloorOnExtremeAndRandomInputs) {
  const std::vector<int64_t> accs = {0,
                                     1,
                                     -1,
                                     INT32_MAX,
                                     INT32_MIN,
                                     int64_t{65535} * 65535,
                                     1 << 30,
                                     -(1 << 30),
                                     kMostMultiplied,
                                     -kMostMultiplied,
                                     kMostMultiplied - 1,
                                     int64_t{-65535} * 65535};
  for (int shift = kMinShift; shift <= kMaxShift; ++shift) {
    for (const int32_t m : {0, 1, 1 << 14, (1 << 15) - 1, 1 << 30, INT32_MAX}) {
      for (const int64_t acc : accs)
        ASSERT_EQ(scale(acc, {m, shift}), static_cast<int64_t>(floor_half_up(acc, {m, shift})));
    }
  }
  Random random(2, 0);
  for (int i = 0; i < 200000; ++i) {
    const auto acc = static_cast<int32_t>(random.bits()) >> random.below(24);
    const Multiplier factor{static_cast<int32_t>(random.bits() >> 1), 1 + static_cast<int32_t>(random.below(62))};
    ASSERT_EQ(scale(acc, factor), static_cast<int64_t>(floor_half_up(acc, factor)));
    const long double exact = std::ldexp(static_cast<long double>(acc) * factor.m, -factor.shift);  // 62 bits: exact
    ASSERT_EQ(scale(acc, factor), static_cast<int64_t>(std::floor(exact + 0.5L)));
  }
}

// A4.4
TEST(ToShift, PowersOfTwoOnly) {
  EXPECT_EQ(to_shift(1.0), 0);
  EXPECT_EQ(to_shift(0.125), 3);
  EXPECT_EQ(to_shift(0x1p29), -29);
  EXPECT_EQ(to_shift(0x1p-32), 32);
  for (const double factor : {0x1p30, 0x1p-33, 0.3, 0.0, -2.0, std::nextafter(0.5, 1.0), 5e-324})
    EXPECT_EQ(to_shift(factor), std::nullopt) << factor;
}

// A4.4
TEST(ShiftAsMultiplier, EqualsTheExactFloor) {
  Random random(3, 0);
  for (int32_t k = kMinPowerShift; k <= kMaxPowerShift; ++k) {
    for (int i = 0; i < 2000; ++i) {
      const auto acc = i == 0 ? INT32_MIN : static_cast<int32_t>(random.bits()) >> random.below(31);
      const long double exact = std::ldexp(static_cast<long double>(acc), -k);
      ASSERT_EQ(scale(acc, shift_as_multiplier(k)), static_cast<int64_t>(std::floor(exact + 0.5L))) << acc << " " << k;
    }
  }
}

/// A program stores only the shift of a power of two.
TEST(Stored, IsWhatAProgramHolds) {
  for (int32_t k = kMinPowerShift; k <= kMaxPowerShift; ++k) {
    const Multiplier stored = to_stored(Requantization::power_of_two, shift_as_multiplier(k));
    EXPECT_EQ(stored, (Multiplier{0, k}));
    EXPECT_EQ(from_stored(Requantization::power_of_two, stored), shift_as_multiplier(k));
  }
  EXPECT_EQ(to_stored(Requantization::fixed_point, {5, 9}), (Multiplier{5, 9}));
  EXPECT_EQ(from_stored(Requantization::fixed_point, {5, 9}), (Multiplier{5, 9}));
}

TEST(Requantization, FormsHaveNamesAndTraits) {
  for (const auto form : {Requantization::fixed_point, Requantization::power_of_two, Requantization::float32,
                          Requantization::fbgemm, Requantization::x86})
    EXPECT_EQ(parse_requantization(traits(form).name), form);
  EXPECT_EQ(parse_requantization("float"), std::nullopt);
  EXPECT_TRUE(traits(Requantization::x86).is_engine && traits(Requantization::x86).keeps_scales);
  EXPECT_FALSE(traits(Requantization::power_of_two).keeps_scales);
}

}  // namespace
}  // namespace halfstep::arith
