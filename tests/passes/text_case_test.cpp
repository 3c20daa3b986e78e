// Tests of the text-case runner: it must detect a wrong expectation.
#include "tests/passes/text_case.h"

#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/core/base/status.h"

namespace halfstep::passes {
namespace {

std::vector<TextCase> cases_of(const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "page.ir";
  std::ofstream(path) << text;
  return read_cases(path);
}

TEST(TextCase, KeepsLinesAndArguments) {
  const auto cases = cases_of(
      "# a page\n"
      "# passes: one, two(a, b.c)\n"
      "graph g() {\n"
      "  return\n"
      "}\n"
      "# expect:\n"
      "graph h() {\n"
      "}\n"
      "# values: exact\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].name, "page.g");
  EXPECT_EQ(cases[0].line, 2);
  ASSERT_EQ(cases[0].passes.size(), 2u);
  EXPECT_EQ(cases[0].passes[1].arguments, (std::vector<std::string>{"a", "b.c"}));
  EXPECT_EQ(cases[0].input, "\n\ngraph g() {\n  return\n}\n");
  EXPECT_TRUE(cases[0].expected.starts_with("\n\n\n\n\n\ngraph h() {\n}\n"));
  EXPECT_EQ(cases[0].values, "exact");
}

TEST(TextCase, ErrorsBelongToLinesOfGraphsOnly) {
  const auto cases = cases_of(
      "# passes: p\n# expect-error: whole\ngraph a() {\n}\n"
      "# passes: p\ngraph b() {  # expect-error: this line\n}\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].error->message, "whole");
  EXPECT_EQ(cases[0].error->line, 0);
  EXPECT_EQ(cases[1].error->message, "this line");
  EXPECT_EQ(cases[1].error->line, 6);
}

TEST(TextCase, WithoutAGraphIsAnError) { EXPECT_THROW(cases_of("# passes: dce\n# expect: unchanged\n"), Error); }

TEST(LineDiff, MarksWhatDiffers) { EXPECT_EQ(line_diff("a\nb\nc\n", "a\nx\nc\n"), "  a\n- b\n+ x\n  c\n"); }

}  // namespace
}  // namespace halfstep::passes
