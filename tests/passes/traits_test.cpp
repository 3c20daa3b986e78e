#include "halfstep/passes/traits.h"

#include <gtest/gtest.h>

#include "halfstep/ir/ops.h"
#include "halfstep/ir/parse.h"

namespace halfstep::passes {
namespace {

/// They keep a graph from being optimized as floats alone are.
TEST(Traits, OperatorsThatDecideCodes) {
  const auto decides = [](const std::string& line) {
    return decides_codes(parse("graph g(x: f32[1, 2, 3, 3]) {\n  y = " + line + "\n  return y\n}\n").op("y"));
  };
  EXPECT_TRUE(decides("fake_quantize_dequantize_abs_max(x)"));
  EXPECT_FALSE(decides("relu(x)"));
  for (const OpInfo& info : all_operators()) {
    if (info.quant.trait != "quantizer" && !info.record.starts_with("ops/integer.yaml")) continue;
    detail::OpNode node;
    node.info = &info;
    EXPECT_TRUE(decides_codes(Op(&node))) << info.name;
  }
}

}  // namespace
}  // namespace halfstep::passes
