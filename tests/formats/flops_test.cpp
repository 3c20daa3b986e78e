// Operation counts of a graph: by the formulas of the records, and one per element for all other operators.
#include "halfstep/core/ir/flops.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"

namespace halfstep {
namespace {

int64_t of(const std::string& arguments, const std::string& call) {
  return flops(parse("graph g(" + arguments + ") {\n  y = " + call + "\n  return y\n}\n", "net.ir"));
}

TEST(Flops, products_count_a_multiplication_and_an_addition) {
  EXPECT_EQ(of("x: f32[2, 3], w: f32[5, 3]", "linear(x, w=w)"), 2 * 2 * 3 * 5);
  EXPECT_EQ(of("a: f32[2, 3], b: f32[2, 5]", "matmul(a, b=b) {transpose_a: true}"), 2 * 2 * 3 * 5);
  EXPECT_EQ(of("a: f32[4, 2, 3], b: f32[3, 5]", "matmul_broadcast(a, b=b)"), 4 * 2 * 2 * 3 * 5);
  EXPECT_EQ(of("x: f32[1, 4, 5, 5], w: f32[6, 2, 3, 3]", "conv2d(x, w=w) {groups: 2}"), 2 * (6 * 3 * 3) * (2 * 3 * 3));
  EXPECT_EQ(of("x: f32[1, 4, 5], w: f32[4, 2, 3]", "conv_transpose(x, w=w)"), 2 * (4 * 5) * (2 * 3));
  EXPECT_EQ(of("x: f32[5, 3, 4], w: f32[1, 24, 4], r: f32[1, 24, 6]", "lstm(x, w=w, r=r)"), 2 * 5 * 3 * 24 * (4 + 6));
  EXPECT_EQ(of("q: f32[2, 3, 4, 8], k: f32[2, 3, 6, 8], v: f32[2, 3, 6, 5]", "attention(q, k=k, v=v)"),
            2 * 2 * 3 * 4 * 6 * (8 + 5));
}

TEST(Flops, the_rest_counts_its_largest_value_and_moves_count_nothing) {
  EXPECT_EQ(of("x: f32[2, 3]", "relu(x)"), 6);
  EXPECT_EQ(of("x: f32[2, 3]", "reduce_sum(x) {axes: [1]}"), 6);
  EXPECT_EQ(of("x: f32[2, 3]", "transpose(x) {perm: [1, 0]}"), 0);
}

TEST(Flops, are_unknown_with_a_dynamic_dim) {
  EXPECT_EQ(of("x: f32[?, 3]", "relu(x)"), kUnknown);
  EXPECT_EQ(of("x: f32[?, 3], w: f32[5, 3]", "linear(x, w=w)"), kUnknown);
}

}  // namespace
}  // namespace halfstep
