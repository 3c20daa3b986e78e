// Operators that stay in float, as a list and as text.
#include "halfstep/quant/prepare/float_fallback.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/decisions.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

TEST(FloatFallbacks, AreListedInTheOrderOfTheGraph) {
  const Model model =
      test::prepared(test::images("  c = conv2d(x, w=@w)\n  s = hardmax(c) {axis: 1}\n  a = sigmoid(s)\n  return a\n"));
  const auto fallbacks = float_fallback(model);
  ASSERT_EQ(fallbacks.size(), 2U);
  EXPECT_EQ(fallbacks[0].layer, "s");
  EXPECT_EQ(fallbacks[0].op, "hardmax");
  EXPECT_EQ(fallbacks[0].reason, "hardmax has no integer implementation");
  EXPECT_EQ(fallbacks[1].layer, "a");
  EXPECT_EQ(fallbacks[1].reason, "its inputs are all float values");
}

/// Ids and their extents stay the same in an integer program.
TEST(FloatFallbacks, AreNoIntegers) {
  const Model model = test::prepared(test::network(
      "graph g(i: i64[2, 3]) {\n  param @t: f32[5, 4]\n  param @w: f32[3, 4]\n  r = reshape(i) {dims: [-1]}\n"
      "  e = gather(x=@t, indices=r)\n  y = linear(e, w=@w)\n  return y\n}\n"));
  EXPECT_EQ(model.metadata.float_operators.at("r"), "operand 'i' is i64");
  EXPECT_TRUE(float_fallback(model).empty());
}

/// The metadata may name operators that a later pass removed.
TEST(FloatFallbacks, AreOperatorsThatAreThere) {
  Model model = test::images("  c = conv2d(x, w=@w)\n  return c\n");
  EXPECT_TRUE(float_fallback(model).empty());
  model.metadata.float_operators = {{"c", "so it is"}, {"gone", "it was"}};
  ASSERT_EQ(float_fallback(model).size(), 1U);
}

TEST(FloatFallbacks, AreCountedAndTheFirstNamed) {
  std::vector<FloatFallback> fallbacks = {{"a", "hardmax", ""}};
  EXPECT_EQ(describe(fallbacks), "1 operator (hardmax 'a')");
  fallbacks.push_back({"b", "matmul", ""});
  EXPECT_EQ(describe(fallbacks), "2 operators (hardmax 'a', matmul 'b')");
  fallbacks.insert(fallbacks.end(), 8, {"c", "add", ""});
  EXPECT_EQ(describe(fallbacks),
            "10 operators (hardmax 'a', matmul 'b', add 'c', add 'c', add 'c', add 'c', add 'c', add 'c', 2 more)");
}

}  // namespace
}  // namespace halfstep::quant
