// A fixed batch becomes dynamic through all operators that contain it, and closing it restores the network exactly.
#include "halfstep/passes/graph/dynamic_batch.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"

namespace halfstep::passes {
namespace {

Model network(const std::string& text, const std::string& batch) {
  std::string with_batch = text;
  for (size_t at = with_batch.find('$'); at != std::string::npos; at = with_batch.find('$'))
    with_batch.replace(at, 1, batch);
  Model model{parse(with_batch, "g.ir"), {}, {}, {}};
  for (const Value tensor : model.graph.tensors())
    model.tensors.emplace(tensor.name(), Tensor(tensor.dtype(), tensor.dims()));
  return model;
}

void expect_opened(const std::string& text, const std::string& batch, const Dims& output) {
  const Model fixed = network(text, batch);
  const auto opened = dynamic_batch(fixed);
  ASSERT_TRUE(opened.has_value()) << text << batch;
  EXPECT_TRUE(has_dynamic_batch(*opened));
  EXPECT_EQ(opened->graph.outputs().front().dims(), output) << text << batch;
  Dims five = opened->graph.arguments().front().dims();
  five[0] = 5;
  Dims expected = output;
  for (int64_t& extent : expected) extent = extent == kUnknown ? 5 : extent;
  EXPECT_EQ(specialize(*opened, {{"x", five}}).graph.outputs().front().dims(), expected);
  const Model closed = close_batch(*opened, fixed);
  EXPECT_EQ(closed.graph, fixed.graph) << text << batch;
  EXPECT_EQ(closed.metadata, fixed.metadata);
}

void expect_opened(const std::string& text, const Dims& output) {
  for (const char* batch : {"1", "7"}) expect_opened(text, batch, output);
}

TEST(DynamicBatch, OfReshapesThatNameIt) {
  expect_opened(
      "graph g(x: f32[$, 3, 4]) {\n  a = reshape(x) {dims: [$, 12]}\n  b = reshape(x=a) {dims: [$, 2, -1]}\n"
      "  c = transpose(x=b) {perm: [1, 0, 2]}\n  d = transpose(x=c) {perm: [1, 0, 2]}\n  return d\n}",
      {kUnknown, 2, 6});
}

TEST(DynamicBatch, OfSizesThatNameIt) {
  expect_opened("graph g(x: f32[$, 3, 4, 4]) {\n  y = resize(x) {sizes: [$, 3, 8, 6]}\n  return y\n}",
                {kUnknown, 3, 8, 6});
  expect_opened(
      "graph g(x: f32[$, 1, 4]) {\n  param @z: f32[$, 3, 4]\n  e = expand(x) {dims: [$, 3, 4]}\n"
      "  y = mul(a=e, b=@z)\n  return y\n}",
      {kUnknown, 3, 4});
}

/// From samples to rows of all samples, and back.
TEST(DynamicBatch, OfRowsOfSamples) {
  expect_opened(
      "graph g(x: f32[$, 6, 8]) {\n  param @w: f32[8, 8]\n  a = reshape(x) {dims: [-1, 8]}\n  b = linear(x=a, w=@w)\n"
      "  c = reshape(x=b) {dims: [$, 6, 8]}\n  return c\n}",
      {kUnknown, 6, 8});
}

constexpr const char* kToken =
    "graph g(x: f32[$, 6, 8]) {\n  param @token: f32[$, 1, 8]\n  c = concat(x=[@token, x])\n  return c\n}";

TEST(DynamicBatch, OfStoredNumbersForEachSample) { expect_opened(kToken, {kUnknown, 7, 8}); }

TEST(DynamicBatch, StoredNumbersAreReadForEachSample) {
  const auto opened = dynamic_batch(network(kToken, "1"));
  EXPECT_EQ(opened->graph.all<ops::Gather>().size(), 1U);
  EXPECT_EQ(
      dynamic_batch(network("graph g(x: f32[$, 8]) {\n  param @b: f32[1, 8]\n  c = add(a=x, b=@b)\n  return c\n}", "1"))
          ->graph.ops()
          .size(),
      1U);
}

/// Attention as PyTorch writes it: the batch is the second axis, and heads are joined to it. With a batch of 1, extents
/// alone do not show in which axis a reshape puts it. Only one interpretation works up to the end.
TEST(DynamicBatch, WhereABatchOfOneMayBeInSeveralAxes) {
  const auto text = [](const std::string& heads, const std::string& rows) {
    return "graph g(x: f32[$, 6, 16]) {\n  param @w: f32[16, 16]\n  t = transpose(x) {perm: [1, 0, 2]}\n"
           "  h = reshape(x=t) {dims: [6, " +
           heads +
           ", 8]}\n  q = transpose(x=h) {perm: [1, 0, 2]}\n"
           "  k = transpose(x=q) {perm: [0, 2, 1]}\n  s = matmul(a=q, b=k)\n  p = softmax(x=s) {axis: -1}\n"
           "  v = matmul(a=p, b=q)\n  u = transpose(x=v) {perm: [1, 0, 2]}\n"
           "  r = reshape(x=u) {dims: [" +
           rows +
           ", 16]}\n  l = linear(x=r, w=@w)\n"
           "  b = reshape(x=l) {dims: [6, $, 16]}\n  y = transpose(x=b) {perm: [1, 0, 2]}\n  return y\n}";
  };
  expect_opened(text("2", "6"), "1", {kUnknown, 6, 16});
  expect_opened(text("14", "42"), "7", {kUnknown, 6, 16});
}

TEST(DynamicBatch, NotWhereAResultLosesIt) {
  for (const char* text : {
           "graph g(x: f32[$, 8]) {\n  y = reduce_mean(x) {axes: [0]}\n  return y\n}",
           "graph g(x: f32[$, 8]) {\n  y = squeeze(x) {axes: [0]}\n  return y\n}",
       })
    EXPECT_FALSE(dynamic_batch(network(text, "1")).has_value()) << text;
}

TEST(DynamicBatch, NotWhereItIsOpenOrMissing) {
  EXPECT_FALSE(dynamic_batch(network("graph g(x: f32[$, 8]) {\n  y = relu(x)\n  return y\n}", "?")).has_value());
  EXPECT_FALSE(dynamic_batch(network("graph g(x: f32[]) {\n  y = relu(x)\n  return y\n}", "1")).has_value());
  EXPECT_FALSE(dynamic_batch(network("graph g(x: f32[$, 8], z: f32[2, 8]) {\n  y = add(a=x, b=z)\n  return y\n}", "1"))
                   .has_value());
}

}  // namespace
}  // namespace halfstep::passes
