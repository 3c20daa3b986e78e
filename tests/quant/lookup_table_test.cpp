// Tables of codes, entry by entry.
#include "halfstep/quant/convert/lookup_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/arith/scalar_functions.h"
#include "halfstep/core/ir/text/parse.h"

namespace halfstep::quant {
namespace {

/// The operation y = `line` of x.
struct Function {
  Graph graph;
  explicit Function(const std::string& line)
      : graph(parse("graph g(x: f32[4]) {\n  y = " + line + "\n  return y\n}\n")) {}
  Op op() const { return graph.op("y"); }
};

// A5.1
TEST(LookupTable, HasTheCodeOfTheFunctionOfEveryCode) {
  const CodeFormat x{0.5F, 4, 0, 15}, y{0.25F, 2, 0, 15};
  const Tensor table = lookup_table(Function("relu(x)").op(), x, y, DType::u8);
  EXPECT_EQ(table.dims(), Dims{16});
  for (int code = 0; code < 16; ++code)
    EXPECT_EQ(table.data<uint8_t>()[static_cast<size_t>(code)], std::min(15, 2 + 2 * std::max(0, code - 4))) << code;
}

TEST(LookupTable, ReadsTheAttributesOfTheFunction) {
  const CodeFormat x{0.5F, 4, 0, 15}, y{0.25F, 8, 0, 15};
  const Tensor table = lookup_table(Function("leaky_relu(x) {alpha: -0.5}").op(), x, y, DType::u8);
  EXPECT_EQ(table.data<uint8_t>()[0], 8 + 4);
}

// A5.1
TEST(LookupTable, NaNHasTheLowestCode) {
  const CodeFormat x{1.0F, 8, 0, 15}, y{0.25F, 3, 1, 15};
  const Tensor table = lookup_table(Function("log(x)").op(), x, y, DType::u8);
  EXPECT_EQ(table.data<uint8_t>()[0], 1);  // the logarithm of -8
  EXPECT_EQ(table.data<uint8_t>()[8], 1);  // log of 0, which is minus infinity
  EXPECT_EQ(table.data<uint8_t>()[9], 3);
}

TEST(LookupTable, WideCodesHaveTwoBytes) {
  const CodeFormat x{0.5F, 0, 0, 1023}, y{0.25F, 0, 0, 4095};
  const Tensor table = lookup_table(Function("relu(x)").op(), x, y, DType::u16);
  EXPECT_EQ(table.size(), 1024);
  EXPECT_EQ(table.data<uint16_t>()[1023], 2046);
}

TEST(RescaleTable, IsWhatTheFormMakesOfTheRatio) {
  const CodeFormat x{0.5F, 4, 0, 15}, y{0.25F, 2, 1, 14};
  for (const auto form : {arith::Requantization::float32, arith::Requantization::fbgemm, arith::Requantization::x86}) {
    arith::Requantizer requantizer;
    ASSERT_TRUE(arith::RequantizeRule{.form = form}.for_rescale(x.scale, y.scale, requantizer).ok());
    const Tensor table = rescale_table(x, y, DType::u8, requantizer);
    for (int code = 0; code < 16; ++code)
      EXPECT_EQ(table.data<uint8_t>()[static_cast<size_t>(code)], std::clamp(2 + 2 * (code - 4), 1, 14)) << code;
  }
}

class EveryFunction : public testing::TestWithParam<const OpInfo*> {};

/// The slope of a table in training is the derivative of the function that fills it, at points without a corner.
TEST_P(EveryFunction, HasItsDerivativeAsSlope) {
  const arith::PointwiseFunction* f = arith::find_function(GetParam()->name);
  ASSERT_NE(f, nullptr);
  if (f->slope == nullptr) GTEST_SKIP() << "its gradient is not written as scalars";
  const Attributes attributes = complete_attributes(*GetParam(), {}, "test");
  for (const double x : {-3.3, -0.7, 0.3, 0.9, 2.3}) {
    constexpr double kStep = 1e-6;
    const double difference = (f->value(x + kStep, attributes) - f->value(x - kStep, attributes)) / (2 * kStep);
    if (std::isnan(difference)) continue;
    EXPECT_NEAR(f->slope(x, attributes), difference, 1e-4 * std::max(1.0, std::fabs(difference))) << x;
  }
}

std::vector<const OpInfo*> functions() {
  std::vector<const OpInfo*> all;
  for (const OpInfo& info : all_operators()) {
    if (info.quant.lookup) all.push_back(&info);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryFunction, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param->name; });

TEST(Functions, OthersHaveNone) {
  EXPECT_EQ(arith::find_function("conv2d"), nullptr);
  EXPECT_EQ(arith::find_function("add"), nullptr);
}

}  // namespace
}  // namespace halfstep::quant
