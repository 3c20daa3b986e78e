#include "halfstep/core/base/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halfstep {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class SmallFloatFormats : public ::testing::TestWithParam<DType> {};

TEST_P(SmallFloatFormats, EveryCodeComesBack) {
  const SmallFloat format = SmallFloat::of(GetParam());
  const int codes = 1 << (1 + format.exponent_bits + format.mantissa_bits);
  for (int code = 0; code < codes; ++code) {
    const double value = decode(static_cast<uint16_t>(code), format);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(decode(encode(value, format, false), format)));
    } else {
      EXPECT_EQ(encode(value, format, false), code) << value;
    }
  }
}

/// The midpoint of two neighbours rounds to the even code. Values beside it round to the nearer neighbour.
TEST_P(SmallFloatFormats, RoundsHalfToEven) {
  const SmallFloat format = SmallFloat::of(GetParam());
  for (uint16_t code = 0; decode(static_cast<uint16_t>(code + 1), format) <= format.largest(); ++code) {
    const double low = decode(code, format);
    const double high = decode(static_cast<uint16_t>(code + 1), format);
    const double middle = (low + high) / 2;
    EXPECT_EQ(encode(middle, format, false), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(encode(std::nextafter(middle, 0), format, false), code);
    EXPECT_EQ(encode(std::nextafter(middle, kInf), format, false), code + 1);
    if (high == format.largest()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloatFormats,
                         ::testing::Values(DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e4m3fnuz,
                                           DType::f8_e5m2, DType::f8_e5m2fnuz, DType::f4_e2m1fn),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(SmallFloat, LargestMagnitudes) {
  EXPECT_EQ(SmallFloat::of(DType::f16).largest(), 65504);
  EXPECT_EQ(SmallFloat::of(DType::f8_e4m3fn).largest(), 448);
  EXPECT_EQ(SmallFloat::of(DType::f8_e4m3fnuz).largest(), 240);
  EXPECT_EQ(SmallFloat::of(DType::f8_e5m2).largest(), 57344);
  EXPECT_EQ(SmallFloat::of(DType::f8_e5m2fnuz).largest(), 57344);
  EXPECT_EQ(SmallFloat::of(DType::f4_e2m1fn).largest(), 6);
}

TEST(SmallFloat, BeyondTheLargest) {
  const auto round_trip = [](double value, DType dtype, bool saturate) {
    return decode(encode(value, SmallFloat::of(dtype), saturate), SmallFloat::of(dtype));
  };
  EXPECT_EQ(round_trip(464, DType::f8_e4m3fn, false), 448);
  EXPECT_TRUE(std::isnan(round_trip(465, DType::f8_e4m3fn, false)));
  EXPECT_EQ(round_trip(-1e9, DType::f8_e4m3fn, true), -448);
  EXPECT_EQ(round_trip(-kInf, DType::f8_e5m2, false), -kInf);
  EXPECT_EQ(round_trip(kInf, DType::f8_e5m2, true), 57344);
  EXPECT_EQ(round_trip(65520, DType::f16, false), kInf);
  EXPECT_EQ(round_trip(65519, DType::f16, false), 65504);
  EXPECT_EQ(round_trip(1e9, DType::f4_e2m1fn, false), 6);
  EXPECT_FALSE(std::signbit(round_trip(-0.0, DType::f8_e4m3fnuz, false)));
}

/// Checks `Narrow` and the format of the dtype, for a number and its neighbours.
template <class Narrow>
void expect_same_conversion(float value, DType dtype) {
  const SmallFloat format = SmallFloat::of(dtype);
  for (const float x : {std::nextafter(value, -INFINITY), value, std::nextafter(value, INFINITY)}) {
    EXPECT_EQ(Narrow(x).bits, encode(x, format, false)) << x;
    EXPECT_EQ(static_cast<float>(Narrow(x)), decode(Narrow(x).bits, format)) << x;
  }
}

template <class Narrow>
void expect_same_conversions(DType dtype) {
  const SmallFloat format = SmallFloat::of(dtype);
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto value = static_cast<float>(decode(static_cast<uint16_t>(code), format));
    const auto next = static_cast<float>(decode(static_cast<uint16_t>(code + 1), format));
    if (!std::isfinite(value) || !std::isfinite(next)) continue;
    expect_same_conversion<Narrow>(value, dtype);
    expect_same_conversion<Narrow>(value / 2 + next / 2, dtype);
  }
  expect_same_conversion<Narrow>(std::numeric_limits<float>::max(), dtype);
  expect_same_conversion<Narrow>(-65520.0F, dtype);
  expect_same_conversion<Narrow>(std::numeric_limits<float>::denorm_min(), dtype);
  EXPECT_EQ(static_cast<float>(Narrow(-INFINITY)), -INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<float>(Narrow(NAN))));
}

TEST(SmallFloat, InlineConversionsOfHalfAreTheSame) { expect_same_conversions<Half>(DType::f16); }
TEST(SmallFloat, InlineConversionsOfBFloat16AreTheSame) { expect_same_conversions<BFloat16>(DType::bf16); }

}  // namespace
}  // namespace halfstep
