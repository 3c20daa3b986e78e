#include "opgen/expr.h"

#include <gtest/gtest.h>

#include "tests/support/error.h"

namespace halfstep::opgen {
namespace {

const Source kWhere{"ops/toy.yaml", 3, "toy.rules.c1"};

std::string shown(const std::string& text) { return to_text(parse_expr(text, kWhere)); }
std::string error_in(const std::string& text) {
  return test::error_of([&] { parse_expr(text, kWhere); });
}

TEST(Expr, Precedence) {
  EXPECT_EQ(shown("a + b * c - d"), "((a + (b * c)) - d)");
  EXPECT_EQ(shown("(a + b) // 2 % 3"), "(((a + b) // 2) % 3)");
  EXPECT_EQ(shown("a == 1 and b < 2 or not c"), "(((a == 1) and (b < 2)) or (not c))");
  EXPECT_EQ(shown("x - -1"), "(x - -1)");
  EXPECT_EQ(shown("-x * 2"), "((- x) * 2)");
  EXPECT_EQ(shown("x in [1, 2 * k]"), "(x in [1, (2 * k)])");
}

TEST(Expr, CallsIndexesMembers) {
  EXPECT_EQ(shown("f(a, g(b).out, size=[1, 2], mode='sum', on=true)"),
            "f(a, g(b).out, size=[1, 2], mode='sum', on=true)");
  EXPECT_EQ(shown("pad[0] + dim(x, -1)"), "(pad[0] + dim(x, -1))");
}

TEST(Expr, Numbers) {
  EXPECT_EQ(parse_expr("7", kWhere).integer, 7);
  EXPECT_EQ(parse_expr("-7", kWhere).integer, -7);
  EXPECT_EQ(parse_expr("1.5e-3", kWhere).real, 1.5e-3);
  EXPECT_EQ(parse_expr("2.0", kWhere).kind, Expr::Kind::real);
}

TEST(Expr, Errors) {
  const std::string where = "ops/toy.yaml:3: toy.rules.c1: ";
  EXPECT_EQ(error_in("a +"), where + "bad expression 'a +': found the end, expected a value");
  EXPECT_EQ(error_in("a b"), where + "bad expression 'a b': found 'b', expected the end");
  EXPECT_EQ(error_in("(a"), where + "bad expression '(a': found the end, expected ')'");
  EXPECT_EQ(error_in("f(a=1, b)"), where + "bad expression 'f(a=1, b)': a positional argument of f after a named one");
  EXPECT_EQ(error_in("a ? b"), where + "'?' in 'a ? b' is not allowed here");
  EXPECT_EQ(error_in("'open"), where + "a quote in ''open' is not closed");
  EXPECT_EQ(error_in("1.2.3"), where + "'1.2.3' is not a number");
  EXPECT_EQ(error_in("99999999999999999999"), where + "'99999999999999999999' is not a number");
  EXPECT_EQ(error_in(std::string(200, '(') + "a" + std::string(200, ')')), where + "expression nested deeper than 100");
}

}  // namespace
}  // namespace halfstep::opgen
