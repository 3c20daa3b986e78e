// Tests that remedies are tried before they are advised.
#include "halfstep/api/detail/remedies.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::api {
namespace {

/// Boxes that are 1,000 times as large as the scores beside them in the output. `more` follows them and ends in the
/// outputs.
Model two_heads(float factor = 1000, const std::string& more = "  return y\n") {
  Model network = train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  param @v: f32[4, 8]\n  a = linear(x, w=@u)\n"
            "  scores = sigmoid(a)\n  boxes = linear(x, w=@v)\n  y = concat(x=[boxes, scores]) {axis: 1}\n" +
                more + "}\n",
            "g.ir"),
      3);
  for (float& value : network.tensors.at("v").data<float>()) value *= factor;
  return network;
}

Dataset samples() {
  Tensor x(DType::f32, {96, 8});
  Random random(5, 0);
  for (float& value : x.data<float>()) value = random.normal();
  return make_data({{"x", x}}, "random");
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

/// docs/guides/read_audit_and_proof.md states this.
TEST(Remedies, QuantizeNamesInfiniteValues) {
  const Model network = train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  a = linear(x, w=@u)\n  r = relu(a)\n  l = log(r)\n"
            "  return l\n}\n",
            "g.ir"),
      3);
  const QuantizeResult quantized = quantize(network, quant::load_platform("generic_int8"), samples(), {}, {});
  const std::string warning =
      "'l': some values are infinite and are clipped to the ends of its range; keep it in float (--skip-layers l)\n";
  EXPECT_EQ(joined(quantized.notes), warning);
  EXPECT_NE(joined(verify(quantized.model, convert(quantized.model).model, samples(), {}, {}).notes).find(warning),
            std::string::npos);
}

TEST(Remedies, QuantizeAndVerifyWarnWithOneThatHelps) {
  const Dataset data = samples();
  const Platform platform = quant::load_platform("generic_int8");
  const QuantizeResult crushed = quantize(two_heads(), platform, data, {}, {});
  for (const char* words : {"'scores': values from ", "--skip-layers 'y' improves it to "})
    EXPECT_NE(joined(crushed.notes).find(words), std::string::npos) << words << " in " << joined(crushed.notes);
  const auto proof = verify(crushed.model, convert(crushed.model).model, data, {}, {});
  EXPECT_TRUE(proof.equal());
  EXPECT_NE(joined(proof.notes).find("--skip-layers 'y' improves it to "), std::string::npos) << joined(proof.notes);
  EXPECT_GT(proof.cosine, 0.999);
  const verify::OutputPart* const worst = verify::worst_of(proof.parts);
  ASSERT_NE(worst, nullptr);
  EXPECT_GE(worst->index, 4);
  EXPECT_LT(worst->sums.sqnr_db(), 1);

  QuantizeOptions options;
  options.prepare.skip_layers = {"y"};
  const QuantizeResult corrected = quantize(two_heads(), platform, data, options, {});
  EXPECT_EQ(joined(corrected.notes), "");
  const auto again =
      verify(corrected.model, quant::convert(corrected.model, {.float_fallback = true}).model, data, {}, {});
  EXPECT_EQ(joined(again.notes), "");
  EXPECT_GT(verify::worst_of(again.parts)->sums.sqnr_db(), 25) << "as was promised";
}

/// Beside the heads there are values of 66 MiB per sample that no relevant output reads.
/// docs/guides/read_audit_and_proof.md states what is tried.
TEST(Remedies, QuantizeLeavesTheTriesOfLargeNetworksToAnalyze) {
  constexpr int kLong = 33;
  std::string body = "  t = reshape(x) {dims: [-1, 8, 1]}\n  v0 = expand(t) {dims: [1, 8, 65536]}\n";
  for (int i = 0; i < kLong; ++i) body += fmt::format("  v{} = neg(v{})\n", i + 1, i);
  body += fmt::format("  z = reduce_max(v{}) {{axes: [1, 2]}}\n  return y, z\n", kLong);
  const Model network = two_heads(1000, body);
  Tensor x(DType::f32, {8, 8});
  Random random(5, 0);
  for (float& value : x.data<float>()) value = random.normal();
  const Dataset data = make_data({{"x", x}}, "random", {.all = true});
  const QuantizeResult quantized = quantize(network, quant::load_platform("generic_int8"), data, {}, {});
  EXPECT_NE(joined(quantized.notes).find("; 'halfstep analyze' tries remedies"), std::string::npos)
      << joined(quantized.notes);
  EXPECT_EQ(joined(quantized.notes).find("improves it to"), std::string::npos);
}

/// Vitis starts its search at scale 1 when weights are small (docs/arithmetic.md, power_floor).
TEST(Remedies, QuantizeAndVerifyNameATensorThatBecomesZero) {
  Model network = two_heads(1);
  for (float& value : network.tensors.at("v").data<float>()) value *= 0.001F;
  const std::string says =
      "and all become 0, because observer power_floor returned scale 1; quantize with --overrides "
      "weights.observer=minmax";
  const Dataset data = samples();
  const QuantizeResult lost = quantize(network, quant::load_platform("vitis"), data, {}, {});
  EXPECT_NE(joined(lost.notes).find("'v': its values range from "), std::string::npos) << joined(lost.notes);
  EXPECT_NE(joined(lost.notes).find(says), std::string::npos) << joined(lost.notes);
  const auto integer = quant::convert(lost.model, {.float_fallback = true}).model;
  EXPECT_NE(joined(verify(lost.model, integer, data, {}, {}).notes).find(says), std::string::npos);
  const Platform minmax = quant::load_platform("vitis", {{"weights.observer", "minmax"}});
  EXPECT_EQ(joined(quantize(network, minmax, data, {}, {}).notes).find("become 0"), std::string::npos);
}

TEST(Remedies, AnOrdinaryNetworkHasNoWarning) {
  EXPECT_EQ(joined(quantize(two_heads(1), quant::load_platform("generic_int8"), samples(), {}, {}).notes), "");
}

TEST(Remedies, AnalysisAdvisesWhatHelps) {
  const Dataset data = samples();
  AnalyzeOptions options;
  options.platform = quant::load_platform("generic_int8");
  options.sensitivity.directions = 0;
  const AnalyzeResult analysis = analyze(two_heads(), data, options, {});
  std::string all;
  for (const auto& one : analysis.sensitivity.quantizers) {
    for (const std::string& suggestion : one.suggestions) {
      const size_t option = suggestion.find("--");
      const bool has_gain = option == std::string::npos || suggestion.find(" improves it to ") != std::string::npos ||
                            suggestion.find(" (loss ", option) != std::string::npos;
      EXPECT_TRUE(has_gain) << suggestion;
      all += suggestion + "\n";
    }
  }
  EXPECT_NE(all.find("--skip-layers 'y' improves it to "), std::string::npos) << all;
  options.tries = 0;
  for (const auto& one : analyze(two_heads(), data, options, {}).sensitivity.quantizers) {
    for (const std::string& suggestion : one.suggestions)
      EXPECT_EQ(suggestion.find(" (loss "), std::string::npos) << suggestion;
  }
}

/// Preparing a prepared network again keeps its bit widths and the operators that were asked to stay in float.
TEST(Remedies, WhatWasAskedForStays) {
  const Dataset data = samples();
  QuantizeOptions options;
  options.prepare.activation_bits = 6;
  options.prepare.skip_layers = {"scores"};
  const QuantizeResult prepared = quantize(two_heads(), quant::load_platform("generic_int8"), data, options, {});
  const auto parts = parts_for(prepared.model, data);
  ThreadPool pool(1);
  const auto tried = with_remedy(prepared.model, {"--skip-layers", {"y"}}, {parts.train, {}, pool});
  ASSERT_TRUE(tried.has_value());
  const auto before = quant::audit(prepared.model), after = quant::audit(*tried);
  std::map<std::string, int> bit_widths;
  for (const auto& one : before.quantizers) bit_widths[one.tensor] = one.bits;
  for (const auto& one : after.quantizers) {
    if (bit_widths.contains(one.tensor)) {
      EXPECT_EQ(one.bits, bit_widths.at(one.tensor)) << one.tensor;
    }
  }
  std::set<std::string> in_float;
  for (const auto& one : after.in_float) in_float.insert(one.layer);
  EXPECT_EQ(in_float, (std::set<std::string>{"scores", "y"}));
  EXPECT_FALSE(with_remedy(prepared.model, {"--skip-layers", {"nothing"}}, {parts.train, {}, pool}));
}

}  // namespace
}  // namespace halfstep::api
