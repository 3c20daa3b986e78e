// Contents of folded tensors; which networks fold is a page of text cases (tests/ir/fold_batch_norm.ir).
#include "halfstep/passes/fold_batch_norm.h"

#include <gtest/gtest.h>

#include "halfstep/ir/parse.h"
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

TEST(FoldBatchNorm, ContentsAreRoundedOnce) {
  Model model = layer();
  fold_batch_norm(model);
  check(model);
  const double third = 1.0 / 3.0;
  EXPECT_TRUE(model.tensors.at("w").same_bits(
      floats({2, 2}, {1.5f, 3.0f, static_cast<float>(3 * third), static_cast<float>(4 * third)})));
  EXPECT_TRUE(model.tensors.at("y.b").same_bits(floats({2}, {-2.5f, static_cast<float>(10 - 4 * third)})));
}

// Copies of a Model share contents: a fold must not show through in another copy.
TEST(FoldBatchNorm, OtherCopiesKeepTheirWeights) {
  const Model before = layer();
  Model after = before;
  fold_batch_norm(after);
  EXPECT_TRUE(before.tensors.at("w").same_bits(layer().tensors.at("w")));
}

/// What stores numbers in half precision keeps its normalization.
TEST(FoldBatchNorm, OthersThanF32StayAsTheyAre) {
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
  fold_batch_norm(model);
  EXPECT_EQ(model.graph.ops().size(), 2U);
}

}  // namespace
}  // namespace halfstep::passes
