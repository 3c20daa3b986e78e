#include "halfstep/core/ir/op_info.h"

#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

constexpr const char* kWhere = "net.ir:3: node 'n'";

const OpInfo& settings() { return require_operator("settings", "test"); }

TEST(OpInfo, FindsPortsAndAttributes) {
  const OpInfo& observe = require_operator("observe", "test");
  EXPECT_EQ(observe.input("iter"), 2);
  EXPECT_EQ(observe.input("itr"), -1);
  EXPECT_EQ(observe.output("out_scale"), 1);
  EXPECT_EQ(observe.attribute("momentum")->default_value, Attribute(0.9));
  EXPECT_EQ(observe.attribute("nothing"), nullptr);
  EXPECT_FALSE(observe.has_variadic_input());
  EXPECT_TRUE(require_operator("concat", "test").has_variadic_input());
}

TEST(OpInfo, UnknownOperatorGetsSuggestion) {
  EXPECT_EQ(diagnostic_of([] { require_operator("rleu", "net.ir:3"); }),
            errors::unknown_name("net.ir:3", "rleu", "an operator", ", did you mean 'relu'?"));
}

TEST(CompleteAttributes, FillsDefaults) {
  const Attributes all = complete_attributes(settings(), {{"count", int64_t{5}}}, "w");
  EXPECT_EQ(all.size(), settings().attributes.size());
  EXPECT_EQ(get<int64_t>(all, "count"), 5);
  EXPECT_EQ(get<double>(all, "ratio"), 0.5);
}

TEST(CompleteAttributes, ConvertsWhatLosesNothing) {
  const Attributes all = complete_attributes(
      settings(), {{"ratio", int64_t{2}}, {"scales", std::vector<int64_t>{1, 2}}, {"names", std::vector<int64_t>{}}},
      "w");
  EXPECT_EQ(get<double>(all, "ratio"), 2.0);
  EXPECT_EQ(get<std::vector<double>>(all, "scales"), (std::vector<double>{1.0, 2.0}));
  EXPECT_TRUE(get<std::vector<std::string>>(all, "names").empty());
}

TEST(CompleteAttributes, Refuses) {
  const auto error = [](const std::string& op, Attributes given) {
    return diagnostic_of([&] { complete_attributes(require_operator(op, "t"), std::move(given), kWhere); });
  };
  EXPECT_EQ(error("settings", {{"ratoi", 1.0}}),
            errors::attribute_unknown(kWhere, "settings", "ratoi", ", did you mean 'ratio'?"));
  EXPECT_EQ(error("settings", {{"count", 1.0}}),
            errors::attribute_type(kWhere, "settings", "count", "1.0 (float)", "int"));
  EXPECT_EQ(error("settings", {{"on", int64_t{1}}}),
            errors::attribute_type(kWhere, "settings", "on", "1 (int)", "bool"));
  EXPECT_EQ(error("settings", {{"mode", std::string("fats")}}),
            errors::attribute_choice(kWhere, "settings", "mode", "\"fats\"", "[\"fast\", \"exact\"]",
                                     ", did you mean 'fast'?"));
  EXPECT_EQ(error("concat", {}), errors::attribute_missing(kWhere, "concat", "axis", "int"));
}

}  // namespace
}  // namespace halfstep
