#include "halfstep/base/small_float.h"

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

/// The middle between neighbours goes to the even code, what lies beside it to its neighbour.
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

TEST(SmallFloat, BFloat16IsTheSameFormat) {
  const SmallFloat format = SmallFloat::of(DType::bf16);
  for (const float value : {1.0F, -0.0F, 1.00390625F, 1.01171875F, 3.4e38F, 1e-40F, -65519.9F}) {
    EXPECT_EQ(BFloat16(value).bits, encode(value, format, false));
    EXPECT_EQ(static_cast<float>(BFloat16(value)), decode(BFloat16(value).bits, format));
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace halfstep
