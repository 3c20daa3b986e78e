// Layers along dynamic dimensions have forms on codes whose results are those of the layers, for extents of any size.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/canonical/layers/spatial_forms.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

/// Compares a layer with its form at extents that the form does not know. `is_rewritten`: whether it has another form.
void expect_same(const std::string& text, const std::vector<Dims>& extents, bool is_rewritten = true) {
  const Model layer = sample_model(parse("graph g(" + text + "  return y\n}\n"));
  Model form = clone(layer);
  spatial_forms(form);
  const auto is_layer = [&](Op op) { return &op.info() == &layer.graph.op("y").info(); };
  EXPECT_EQ(std::ranges::any_of(form.graph.all_ops(), is_layer), !is_rewritten);
  EXPECT_EQ(form.graph.outputs().front().type(), layer.graph.outputs().front().type());
  for (const Dims& dims : extents) {
    const Tensor wanted = outputs_for_samples(specialize(layer, {{"x", dims}})).at("y");
    const Tensor found = outputs_for_samples(specialize(form, {{"x", dims}})).at("y");
    ASSERT_EQ(found.type(), wanted.type()) << to_string(dims);
    for (size_t i = 0; i < static_cast<size_t>(wanted.size()); ++i)
      EXPECT_NEAR(found.data<float>()[i], wanted.data<float>()[i], 1e-5) << to_string(dims) << " element " << i;
  }
}

// A5.25
TEST(OpenAxes, TransposedConvolutions) {
  expect_same(
      "x: f32[?, 2, ?, ?]) {\n  param @w: f32[2, 3, 3, 3]\n  param @b: f32[3]\n"
      "  y = conv_transpose(x, w=@w, b=@b) {stride: [2, 3], pad: [1, 0, 1, 2], output_padding: [1, 0]}\n",
      {{1, 2, 1, 1}, {2, 2, 3, 5}});
  expect_same(
      "x: f32[?, 2, ?]) {\n  param @w: f32[2, 3, 4]\n  y = conv_transpose(x, w=@w) {stride: [2], pad: [1, 1]}\n",
      {{1, 2, 1}, {2, 2, 7}});
  expect_same(
      "x: f32[?, 2, ?, ?, 3]) {\n  param @w: f32[2, 3, 2, 2, 1]\n"
      "  y = conv_transpose(x, w=@w) {stride: [2, 2, 1]}\n",
      {{1, 2, 1, 1, 3}, {2, 2, 3, 4, 3}});
}

// A5.25
TEST(OpenAxes, Volumes) {
  expect_same(
      "x: f32[?, 4, ?, ?, ?]) {\n  param @w: f32[6, 2, 3, 2, 3]\n"
      "  y = conv(x, w=@w) {groups: 2, stride: [2, 1, 1], pad: [1, 1, 1, 1, 0, 1], dilation: [1, 1, 2]}\n",
      {{1, 4, 1, 1, 5}, {2, 4, 6, 5, 7}});
  expect_same("x: f32[?, 3, ?, ?, ?]) {\n  y = max_pool(x) {kernel: [2, 3, 2], stride: [2, 1, 2]}\n",
              {{1, 3, 2, 3, 2}, {2, 3, 5, 6, 7}});
  expect_same("x: f32[?, 3, ?]) {\n  y = average_pool(x) {kernel: [3], stride: [2]}\n", {{1, 3, 3}, {2, 3, 8}});
  expect_same("x: f32[?, 3, ?]) {\n  y = max_pool(x) {kernel: [3], stride: [2], ceil_mode: true}\n", {{1, 3, 4}},
              false);
}

TEST(OpenAxes, NearestElementsOfIntegerFactors) {
  expect_same(
      "x: f32[?, 2, ?, ?]) {\n  y = resize(x) {scales: [2, 3], axes: [2, 3], coordinates: \"asymmetric\", "
      "nearest_mode: \"floor\"}\n",
      {{1, 2, 1, 1}, {2, 2, 3, 5}});
  expect_same("x: f32[?, 2, ?, ?]) {\n  y = resize(x) {scales: [3, 2], axes: [2, 3]}\n", {{1, 2, 1, 4}});
  expect_same("x: f32[?, 2, ?]) {\n  y = resize(x) {scales: [2], axes: [2], nearest_mode: \"floor\"}\n", {{1, 2, 4}},
              false);
  expect_same("x: f32[?, 2, ?]) {\n  y = resize(x) {scales: [1.5], axes: [2]}\n", {{1, 2, 4}}, false);
}

}  // namespace
}  // namespace halfstep::passes
