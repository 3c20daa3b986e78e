// Comparisons of codes have the results of comparisons of their real values.
#include "halfstep/passes/quantized/compared_codes.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"

namespace halfstep::passes {
namespace {

bool compare(const std::string& op, float a, float b) {
  if (op == "equal") return a == b;
  if (op == "greater") return a > b;
  if (op == "greater_or_equal") return a >= b;
  return op == "less" ? a < b : a <= b;
}

// A5.45
TEST(ComparedCodes, AgreeWithRealValues) {
  constexpr float kScale = 0.1F;
  constexpr int32_t kZero = 3, kMin = 0, kMax = 15;
  for (const char* name : {"equal", "greater", "greater_or_equal", "less", "less_or_equal"}) {
    const Graph graph =
        parse(std::string("graph g(a: f32[4], b: f32[4]) {\n  y = ") + name + "(a=a, b=b)\n  return y\n}\n");
    for (const float number : {-9.0F, -0.3F, -0.25F, 0.0F, 0.7F, 0.7F + 1e-7F, 1.2F, 9.0F}) {
      for (const bool is_second : {false, true}) {
        const auto made = on_codes(graph.op("y"), {{}, number, is_second}, kScale, kZero, kMin, kMax);
        ASSERT_TRUE(made) << name << " " << number;
        for (int32_t code = kMin; code <= kMax; ++code) {
          const float real = static_cast<float>(code - kZero) * kScale;
          EXPECT_EQ(compare(made->info->name, static_cast<float>(code), static_cast<float>(made->code)),
                    is_second ? compare(name, number, real) : compare(name, real, number))
              << name << " " << number << " " << code;
        }
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::passes
