// Finds operators that compute indices, by the values that they depend on and by their readers.
#include "halfstep/passes/canonical/index_arithmetic.h"

#include <gtest/gtest.h>

#include <string>

#include "halfstep/core/ir/text/parse.h"

namespace halfstep::passes {
namespace {

std::string indices(const std::string& text) {
  const Graph graph = parse("graph g(" + text + "}\n", "test.ir");
  const IndexArithmetic found(graph);
  std::string names;
  for (Op op : graph.ops()) {
    if (found.contains(op)) names += (names.empty() ? "" : " ") + op.name() + (found.is_exact(op) ? "" : "?");
  }
  return names;
}

/// h[arange(n), 2] as PyTorch's TorchScript exporter writes it: all operators except the layers and the gather of their
/// rows.
TEST(IndexArithmetic, OfExtentsInFloat) {
  EXPECT_EQ(indices("x: f32[?, 4]) {\n  param @w: f32[4, 4]\n  const @two: f32[1]\n  h = linear(x, w=@w)\n"
                    "  i = positions(x) {step: 8}\n  z = positions(x) {step: 0}\n  f = cast(i) {to: \"f32\"}\n"
                    "  c = gather(x=@two, indices=z)\n  s = add(a=c, b=f)\n  j = cast(s) {to: \"i64\"}\n"
                    "  y = gather(x=h, indices=j)\n  v = linear(y, w=@w)\n  return v\n"),
            "i z f c s j");
}

TEST(IndexArithmetic, DataAndIndicesOfOneInput) {
  EXPECT_EQ(indices("x: f32[2, 4]) {\n  param @w: f32[4, 4]\n  param @t: f32[9, 4]\n"
                    "  s = slice(x) {starts: [0], ends: [1], axes: [1]}\n  j = cast(s) {to: \"i64\"}\n"
                    "  k = reshape(j) {dims: [-1]}\n  e = gather(x=@t, indices=k)\n  h = linear(x, w=@w)\n  y = "
                    "linear(e, w=@w)\n  return h, y\n"),
            "s j k");
}

TEST(IndexArithmetic, ActivationsOnTheWayToAnInteger) {
  EXPECT_EQ(indices("x: f32[2, 4]) {\n  param @w: f32[4, 4]\n  const @k: f32[]\n  h = linear(x, w=@w)\n"
                    "  r = relu(h)\n  a = arg_max(x=r) {axis: 1, keep_dims: false}\n  f = cast(a) {to: \"f32\"}\n"
                    "  m = mul(a=f, b=@k)\n  j = cast(m) {to: \"i64\"}\n  return j\n"),
            "a? f m j");
}

TEST(IndexArithmetic, ARoundedActivationIsAnInteger) {
  EXPECT_EQ(indices("x: f32[2, 4]) {\n  param @w: f32[4, 4]\n  const @k: f32[]\n  h = linear(x, w=@w)\n"
                    "  m = mul(a=h, b=@k)\n  f = floor(m)\n  o = add(a=f, b=@k)\n  j = cast(o) {to: \"i64\"}\n"
                    "  t = floor(h)\n  u = mul(a=h, b=t)\n  return j, u\n"),
            "f? o j");
}

/// Numbers that are counted along an axis and then added to activations are exact, whether or not an index depends on
/// them too.
TEST(IndexArithmetic, CountedNumbers) {
  const std::string body =
      "x: f32[?, 4]) {\n  param @w: f32[4, 4]\n  const @k: f32[]\n  h = linear(x, w=@w)\n"
      "  p = positions(x) {axis: 1}\n  f = cast(p) {to: \"f32\"}\n  s = add(a=f, b=@k)\n  y = add(a=h, b=s)\n";
  EXPECT_EQ(indices(body + "  return y\n"), "p f s");
  EXPECT_EQ(indices(body + "  j = cast(s) {to: \"i64\"}\n  return y, j\n"), "p f s j");
}

/// Angles of positions are counted, also through functions and a choice by a comparison. Rows of a table at counted
/// positions are not: they are learned.
TEST(IndexArithmetic, CountedAngles) {
  EXPECT_EQ(indices("x: f32[?, 4]) {\n  param @w: f32[4, 4]\n  param @t: f32[9, 4]\n  const @k: f32[]\n"
                    "  const @low: f32[]\n  h = linear(x, w=@w)\n"
                    "  p = positions(x)\n  f = cast(p) {to: \"f32\"}\n  u = unsqueeze(f) {axes: [1]}\n"
                    "  a = mul(a=u, b=@k)\n  s = sin(a)\n  g = greater(a=a, b=@k)\n"
                    "  c = select(condition=g, a=@k, b=@low)\n  m = add(a=s, b=c)\n  e = gather(x=@t, indices=p)\n"
                    "  r = add(a=e, b=m)\n  y = add(a=h, b=r)\n  return y\n"),
            "p f u a s g c m");
}

/// Remainder of a mask of integers behind the elements that hide others.
TEST(IndexArithmetic, SoftenedMasks) {
  const std::string body =
      "  param @w: f32[4, 4]\n  const @k: f32[]\n  h = linear(x, w=@w)\n  f = cast(m) {to: \"f32\"}\n"
      "  s = mul(a=f, b=@k)\n  c = less_or_equal(a=s, b=@k)\n  r = mask_fill(x=s, condition=c, value=@k)\n"
      "  y = add(a=h, b=r)\n  return y\n";
  EXPECT_EQ(indices("x: f32[2, 4], m: i64[4]) {\n" + body), "f s c r");
  EXPECT_EQ(indices("x: f32[2, 4], m: f32[4]) {\n" + body), "c");
}

/// Values that a layer depends on are not indices, even if the whole network ends in an index.
TEST(IndexArithmetic, NetworksThatEndInAnIndex) {
  EXPECT_EQ(indices("i: i64[2, 3]) {\n  param @t: f32[9, 4]\n  param @w: f32[9, 4]\n  k = reshape(i) {dims: [-1]}\n  e "
                    "= gather(x=@t, indices=k)\n"
                    "  r = relu(e)\n  h = linear(r, w=@w)\n  a = arg_max(x=h) {axis: 1}\n  return a\n"),
            "k a?");
}

TEST(IndexArithmetic, OfCodes) {
  EXPECT_EQ(
      indices("x: f32[2, 4]) {\n  const @s: f32[1]\n  const @z: i32[1]\n  q = quantize(x, scale=@s, zero_point=@z)\n"
              "  r = dequantize(q, scale=@s, zero_point=@z)\n  g = greater(a=r, b=@s)\n  return g\n"),
      "g?");
}

}  // namespace
}  // namespace halfstep::passes
