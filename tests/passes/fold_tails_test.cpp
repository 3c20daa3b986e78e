// Contents of folded tensors. Text cases in tests/passes/texts/fold_tails.ir cover which networks fold.
#include "halfstep/passes/canonical/fold_tails.h"

#include <gtest/gtest.h>

#include <limits>

#include "halfstep/core/ir/text/parse.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

constexpr const char* kText = R"(graph layer(x: f32[1, 2]) {
  param @w: f32[2, 2]
  param @g: f32[2]
  param @h: f32[2]
  state @m: f32[2]
  state @v: f32[2]
  y = linear(x, w=@w)
  n = batch_norm(y, scale=@g, bias=@h, mean=@m, variance=@v) {epsilon: 0.0}
  return n
})";

Tensor floats(Dims dims, std::vector<float> values) {
  return Tensor::of<float>(DType::f32, std::move(dims), std::span<const float>(values));
}

Model layer() {
  Model model = sample_model(parse(kText));
  model.tensors["w"] = floats({2, 2}, {1, 2, 3, 4});
  model.tensors["g"] = floats({2}, {3, 1});
  model.tensors["h"] = floats({2}, {0.5, 10});
  model.tensors["m"] = floats({2}, {2, 4});
  model.tensors["v"] = floats({2}, {4, 9});
  return model;
}

// A2.16
TEST(FoldTails, ContentsAreRoundedOnce) {
  Model model = layer();
  fold_tails(model);
  check(model);
  const double third = 1.0 / 3.0;
  EXPECT_TRUE(model.tensors.at("w").same_bits(
      floats({2, 2}, {1.5f, 3.0f, static_cast<float>(3 * third), static_cast<float>(4 * third)})));
  EXPECT_TRUE(model.tensors.at("y.b").same_bits(floats({2}, {-2.5f, static_cast<float>(10 - 4 * third)})));
}

// Copies of a Model share contents: a fold must not change another copy.
TEST(FoldTails, OtherCopiesKeepTheirWeights) {
  const Model before = layer();
  Model after = before;
  fold_tails(after);
  EXPECT_TRUE(before.tensors.at("w").same_bits(layer().tensors.at("w")));
}

/// A tail of one part, on c = x w with the number s.
Model with_number(const std::string& part, float s) {
  Model model =
      sample_model(parse("graph part(x: f32[2, 2]) {\n  param @w: f32[2, 2]\n  const @s: f32[1]\n"
                         "  c = linear(x, w=@w)\n  y = " +
                         part + "\n  return y\n}\n"));
  model.tensors["w"] = floats({2, 2}, {1, -2, 3, 4});
  model.tensors["s"] = floats({1}, {s});
  fold_tails(model);
  check(model);
  return model;
}

/// Numbers stay operators when they cannot divide, or lead to factors that f32 cannot hold.
TEST(FoldTails, NumbersThatAreNoFactorsStayOperators) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float s : {0.0F, -0.0F, kInfinity, kNan, 1e-40F, 3e38F})
    EXPECT_EQ(with_number("div(a=c, b=@s)", s).graph.ops().size(), 2U) << s;
  for (const float s : {kInfinity, -kInfinity, kNan, 1e-40F})
    EXPECT_EQ(with_number("mul(a=c, b=@s)", s).graph.ops().size(), 2U) << s;
  for (const float s : {kInfinity, kNan}) EXPECT_EQ(with_number("sub(a=c, b=@s)", s).graph.ops().size(), 2U) << s;
  EXPECT_EQ(with_number("add(a=c, b=@s)", -1e30F).graph.ops().size(), 2U) << "what hides from a softmax";
}

TEST(FoldTails, FactorsMayBeZeroAndNegative) {
  EXPECT_TRUE(with_number("mul(a=c, b=@s)", 0).tensors.at("w").same_bits(floats({2, 2}, {0, -0.0F, 0, 0})));
  EXPECT_TRUE(with_number("div(a=c, b=@s)", -2).tensors.at("w").same_bits(floats({2, 2}, {-0.5F, 1, -1.5F, -2})));
  const Model turned = with_number("sub(a=@s, b=c)", 7);
  EXPECT_TRUE(turned.tensors.at("w").same_bits(floats({2, 2}, {-1, 2, -3, -4})));
  EXPECT_TRUE(turned.tensors.at("c.b").same_bits(floats({2}, {7, 7})));
}

/// Factors whose product fits f32 while a single factor does not are multiplied in double.
// A2.16
TEST(FoldTails, ATailIsRoundedOnce) {
  Model model = sample_model(parse(R"(graph tail(x: f32[1, 1]) {
  param @w: f32[1, 1]
  param @b: f32[1]
  param @third: f32[1]
  const @seven: f32[]
  y = linear(x, w=@w, b=@b)
  p = div(a=y, b=@third)
  q = add(a=p, b=@seven)
  r = div(a=q, b=@seven)
  return r
})"));
  for (const char* name : {"w", "b"}) model.tensors[name] = floats(model.tensors.at(name).dims(), {1.0F});
  model.tensors["third"] = floats({1}, {3.0F});
  model.tensors["seven"] = Tensor::scalar(7.0F);
  fold_tails(model);
  EXPECT_EQ(model.graph.ops().size(), 1U);
  EXPECT_TRUE(model.tensors.at("w").same_bits(floats({1, 1}, {static_cast<float>(1 / 3.0 * (1 / 7.0))})));
  EXPECT_TRUE(model.tensors.at("b").same_bits(floats({1}, {static_cast<float>((1 / 3.0 + 7.0) * (1 / 7.0))})));
}

/// The normalization of a tail is restored for training, unless its parts would be less exact than the whole.
TEST(FoldTails, NormalizationsAreGivenBackWhereTheyAreAsExact) {
  const auto folded = [](const char* before, const char* behind) {
    Model model = layer();
    model.graph =
        parse(std::string("graph layer(x: f32[1, 2]) {\n  param @w: f32[2, 2]\n  param @g: f32[2]\n"
                          "  param @h: f32[2]\n  state @m: f32[2]\n  state @v: f32[2]\n") +
              "  y = linear(x, w=@w)\n  p = " + before +
              "\n  n = batch_norm(p, scale=@g, bias=@h, mean=@m, variance=@v) {epsilon: 0.0}\n  q = " + behind +
              "\n  return q\n}");
    auto tails = fold_tails(model);
    EXPECT_EQ(model.graph.ops().size(), 1U);
    EXPECT_EQ(tails.size(), 1U);
    return tails.front().norm;
  };
  const auto sums = folded("add(a=y, b=@h)", "add(a=n, b=@g)");
  ASSERT_TRUE(sums);
  EXPECT_TRUE(sums->raw_bias.same_bits(floats({2}, {0.5, 10})));
  EXPECT_TRUE(sums->shift.second.same_bits(floats({2}, {3.5, 11})));
  EXPECT_TRUE(folded("mul(a=y, b=@g)", "add(a=n, b=@g)"));
  EXPECT_FALSE(folded("mul(a=y, b=@g)", "mul(a=n, b=@g)"));
}

/// A network with half-precision numbers keeps its normalization.
TEST(FoldTails, OthersThanF32StayAsTheyAre) {
  Model model;
  model.graph = parse(R"(graph half(x: f16[1, 2]) {
  param @w: f16[2, 2]
  param @g: f16[2]
  y = linear(x, w=@w)
  n = batch_norm(y, scale=@g, bias=@g, mean=@g, variance=@g)
  return n
})");
  model.tensors["w"] = Tensor(DType::f16, {2, 2});
  model.tensors["g"] = Tensor(DType::f16, {2});
  fold_tails(model);
  EXPECT_EQ(model.graph.ops().size(), 2U);
}

}  // namespace
}  // namespace halfstep::passes
