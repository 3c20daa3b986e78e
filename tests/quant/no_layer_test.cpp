// A network without a layer is refused, with a reason and a remedy for each operator that could become one.
#include "halfstep/quant/prepare/no_layer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/networks.h"

namespace halfstep::quant {
namespace {

/// Objections of the preparation.
std::vector<Diagnostic> objections_to(const std::string& text) {
  try {
    test::prepared(test::network(text));
  } catch (const Error& refusal) {
    EXPECT_EQ(refusal.kind(), ErrorKind::bad_input);
    return refusal.diagnostics();
  }
  ADD_FAILURE() << "is not refused: " << text;
  return {};
}

std::string recurrent(const std::string& op, int gates) {
  return fmt::format(
      "graph g(x: f32[7, 2, 4]) {{\n  param @w: f32[1, {0}, 4]\n  param @r: f32[1, {0}, 3]\n  y = {1}(x, w=@w, r=@r) "
      "{{clip: 1.0}}\n"
      "  return y\n}}\n",
      3 * gates, op);
}

struct Kind {
  const char* name;
  std::string text;
  const char* reason;
  const char* remedy;  ///< a part of the remedy
};

const std::vector<Kind> kKinds = {
    {"rnn", recurrent("rnn", 1), "rnn has no integer implementation", "write its gates with linear layers"},
    {"gru", recurrent("gru", 3), "gru has no integer implementation", "write its gates with linear layers"},
    {"lstm", recurrent("lstm", 4), "lstm has no integer implementation", "write its gates with linear layers"},
    {"einsum",
     "graph g(x: f32[5, 5]) {\n  param @w: f32[5, 7]\n  y = einsum(x=[x, @w]) {equation: \"ii,ik->ik\"}\n  return "
     "y\n}\n",
     "einsum has no integer implementation: an operand has the letter 'i' twice", "select its diagonal"},
    {"open_einsum",
     "graph g(x: f32[?, ?, 4]) {\n  param @w: f32[4, 7]\n  y = einsum(x=[x, @w]) {equation: \"ijk,kl->ijl\"}\n  "
     "return y\n}\n",
     "einsum has no integer implementation: it joins axes of several unknown extents", "fewer dynamic dimensions"},
    {"einsum_of_activations",
     "graph g(a: f32[5, 9], b: f32[9, 7]) {\n  y = einsum(x=[a, b]) {equation: \"ij,jk->ik\"}\n  return y\n}\n",
     "matmul: a product of two activations has no weights", "the layers around it"},
    {"half_einsum",
     "graph g(x: f16[5, 9]) {\n  param @w: f16[9, 7]\n  y = einsum(x=[x, @w]) {equation: \"ij,jk->ik\"}\n  return "
     "y\n}\n",
     "einsum has no integer implementation", "write it as a MatMul"},
    {"activations", "graph g(a: f32[3, 4, 5], b: f32[3, 5, 6]) {\n  y = matmul(a=a, b=b)\n  return y\n}\n",
     "matmul: a product of two activations has no weights", "the layers around it"},
    {"computed",
     "graph g(x: f32[2, 4, 6, 6]) {\n  param @w: f32[4, 4, 3, 3]\n  k = mul(a=@w, b=@w)\n  c = conv2d(x, w=k)\n  "
     "return c\n}\n",
     "conv2d: its weight 'k' is computed", "store it in the file"},
    {"half", "graph g(x: f16[2, 4, 6, 6]) {\n  param @w: f16[4, 4, 3, 3]\n  c = conv2d(x, w=@w)\n  return c\n}\n",
     "conv2d: operand 'x' is f16", "export the network in float32"},
};

class WithoutALayer : public testing::TestWithParam<Kind> {};

TEST_P(WithoutALayer, HasAReasonAndARemedy) {
  const auto all = objections_to(GetParam().text);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], errors::network_without_layer("g", ""));
  EXPECT_EQ(all[1].entry, &errors::layer_stays_in_float_entry);
  EXPECT_NE(all[1].problem.find(GetParam().reason), std::string::npos) << all[1].problem;
  EXPECT_NE(all[1].remedy.find(GetParam().remedy), std::string::npos) << all[1].remedy;
  EXPECT_NE(all[1].where.find("node '" + all[1].layer + "'"), std::string::npos) << all[1].where;
}

INSTANTIATE_TEST_SUITE_P(Kinds, WithoutALayer, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(NoLayer, NamesTheOperatorsWhereNoneMultiplies) {
  const auto all = objections_to(
      "graph g(x: f32[2, 4], i: i64[3]) {\n  param @t: f32[9, 4]\n  y = relu(x)\n  e = gather(x=@t, indices=i) {axis: "
      "0}\n"
      "  return y, e\n}\n");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], errors::network_without_operator("g", " among gather, relu"));
}

/// An addition with a stored number for each channel becomes a convolution of its own.
TEST(NoLayer, NamesOperationsOfTheFile) {
  const auto all = objections_to(
      "graph g(x: f32[2, 4, 5, 5]) {\n  param @w: f32[2, 4, 5, 5]\n  param @b: f32[4, 1, 1]\n"
      "  m = einsum(x=[x, x, @w]) {equation: \"abcc,abcd,abcd->abcd\"}\n  s = add(a=m, b=@b)\n  y = relu(s)\n  return "
      "y\n}\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].layer, "m");
}

TEST(NoLayer, ShowsTheFirstOfMany) {
  std::string text = "graph g(x: f32[5, 5]) {\n";
  for (int i = 0; i < 12; ++i) text += "  param @w" + std::to_string(i) + ": f32[5, 5]\n";
  text += "  y0 = relu(x)\n";
  for (int i = 0; i < 12; ++i) {
    const std::string from = std::to_string(i), to = std::to_string(i + 1);
    text += "  y" + to + " = einsum(x=[y" + from + ", @w" + from + "]) {equation: \"jj,jk->jk\"}\n";
  }
  const auto all = objections_to(text + "  return y12\n}\n");
  ASSERT_EQ(all.size(), 9U);
  EXPECT_EQ(all[0], errors::network_without_layer("g", " (the first 8 of 12 layers follow)"));
}

}  // namespace
}  // namespace halfstep::quant
