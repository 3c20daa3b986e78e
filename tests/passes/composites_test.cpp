// Finds units that files write as several operations, and rejects similar ones.
#include "halfstep/passes/canonical/composites.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"

namespace halfstep::passes {
namespace {

/// Describes each unit, such as "gelu(x)=g".
std::string units(const std::string& body) {
  const Graph graph = parse(
      "graph g(x: f32[2, 3, 4]) {\n  const @c: f32[]\n  param @v: f32[4]\n"
      "  param @w: f32[5, 4]\n  param @b: f32[5]\n" +
      body + "}\n");
  std::string text;
  for (const Unit& unit : units_of(graph)) {
    text += unit.kind + "(";
    for (const Value input : unit.inputs) text += (text.ends_with("(") ? "" : ", ") + input.name();
    text += ")=" + unit.result().name() + " ";
  }
  return text;
}

TEST(Composites, GatedByTheirOwnSigmoid) {
  EXPECT_EQ(units("  s = sigmoid(x)\n  y = mul(x, b=s)\n  return y\n"), "silu(x)=y ");
  EXPECT_EQ(units("  s = hard_sigmoid(x)\n  y = mul(s, b=x)\n  return y\n"), "hard_swish(x)=y ");
  EXPECT_EQ(units("  t = relu(x)\n  s = sigmoid(t)\n  y = mul(x, b=s)\n  return y\n"),
            "relu(x)=t sigmoid(t)=s mul(x, s)=y ");
  EXPECT_EQ(units("  s = sigmoid(x)\n  y = mul(x, b=s)\n  return y, s\n"), "sigmoid(x)=s mul(x, s)=y ");
}

TEST(Composites, Gelu) {
  const std::string begin = "  d = div(x, b=@c)\n  e = erf(d)\n  a = add(e, b=@c)\n";
  EXPECT_EQ(units(begin + "  m = mul(x, b=a)\n  y = mul(m, b=@c)\n  return y\n"), "gelu(x)=y ");
  EXPECT_EQ(units(begin + "  m = mul(a, b=@c)\n  y = mul(m, b=x)\n  return y\n"), "gelu(x)=y ");
  EXPECT_EQ(units(begin + "  h = mul(x, b=@c)\n  y = mul(h, b=a)\n  return y\n"), "gelu(x)=y ");
  EXPECT_EQ(units(begin + "  y = mul(x, b=a)\n  return y\n"), "div(x)=d erf(d)=e add(e)=a mul(x, a)=y ");
}

TEST(Composites, LayerNorm) {
  const std::string begin =
      "  m = reduce_mean(x) {axes: [-1], keep_dims: true}\n  s = sub(x, b=m)\n  p = power(s, b=@c)\n"
      "  q = reduce_mean(p) {axes: [-1], keep_dims: true}\n  a = add(q, b=@c)\n  r = sqrt(a)\n  d = div(s, b=r)\n";
  EXPECT_EQ(units(begin + "  f = mul(d, b=@v)\n  y = add(f, b=@v)\n  return y\n"), "layer_norm(x)=y ");
  EXPECT_EQ(units(begin + "  return d\n"), "layer_norm(x)=d ");
}

TEST(Composites, ProductsOfRows) {
  EXPECT_EQ(units("  r = reshape(x) {dims: [-1, 4]}\n  l = linear(r, w=@w)\n  y = reshape(l) {dims: [2, 3, 5]}\n"
                  "  return y\n"),
            "linear(x)=y ");
  EXPECT_EQ(units("  r = reshape(x) {dims: [-1, 4]}\n  l = linear(r, w=@w)\n  z = reshape(l) {dims: [2, 3, 5]}\n"
                  "  y = add(@b, b=z)\n  return y\n"),
            "linear(x)=y ");
  EXPECT_EQ(units("  r = reshape(x) {dims: [-1, 4]}\n  l = linear(r, w=@w)\n  y = reshape(l) {dims: [3, 2, 5]}\n"
                  "  return y\n"),
            "reshape(x)=r linear(r)=l reshape(l)=y ");
}

}  // namespace
}  // namespace halfstep::passes
