#include "halfstep/core/base/attribute.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/error.h"

namespace halfstep {
namespace {

TEST(Attribute, NumbersAreShortestAndKeepTheirType) {
  EXPECT_EQ(to_string(Attribute(int64_t{8})), "8");
  EXPECT_EQ(to_string(Attribute(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(to_string(Attribute(8.0)), "8.0");
  EXPECT_EQ(to_string(Attribute(-0.0)), "-0.0");
  EXPECT_EQ(to_string(Attribute(0.1)), "0.1");
  EXPECT_EQ(to_string(Attribute(0.1 + 0.2)), "0.30000000000000004");
  EXPECT_EQ(to_string(Attribute(1e30)), "1e+30");
  EXPECT_EQ(to_string(Attribute(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(to_string(Attribute(std::numeric_limits<double>::quiet_NaN())), "nan");
}

TEST(Attribute, OtherKinds) {
  EXPECT_EQ(to_string(Attribute(true)), "true");
  EXPECT_EQ(to_string(Attribute(std::vector<int64_t>{1, -2})), "[1, -2]");
  EXPECT_EQ(to_string(Attribute(std::vector<int64_t>{})), "[]");
  EXPECT_EQ(to_string(Attribute(std::vector<double>{1, 0.5})), "[1.0, 0.5]");
  EXPECT_EQ(to_string(Attribute(std::vector<std::string>{"a", "b c"})), R"(["a", "b c"])");
}

TEST(Attribute, TextIsQuotedInAscii) {
  EXPECT_EQ(quote("plain"), "\"plain\"");
  EXPECT_EQ(quote("a\"b\\c\nd\te"), R"("a\"b\\c\nd\te")");
  EXPECT_EQ(quote(std::string_view("\0\x7f\xc3\xa9\r", 5)), R"("\x00\x7f\xc3\xa9\x0d")");
}

TEST(Attribute, TypeNames) {
  EXPECT_EQ(type_name(Attribute(true)), "bool");
  EXPECT_EQ(type_name(Attribute(int64_t{1})), "int");
  EXPECT_EQ(type_name(Attribute(1.0)), "float");
  EXPECT_EQ(type_name(Attribute(std::string())), "string");
  EXPECT_EQ(type_name(Attribute(std::vector<std::string>())), "strings");
}

TEST(Attribute, GetNeedsNameAndType) {
  const Attributes attributes = {{"pad", std::vector<int64_t>{1, 2}}};
  EXPECT_EQ(get<std::vector<int64_t>>(attributes, "pad").size(), 2U);
  EXPECT_EQ(test::name_of([&] { get<int64_t>(attributes, "pad"); }), "defect");
  EXPECT_EQ(test::name_of([&] { get<int64_t>(attributes, "none"); }), "defect");
}

}  // namespace
}  // namespace halfstep
