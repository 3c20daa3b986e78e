// The audit's entries for quantizers, and for values without one.
#include "halfstep/quant/prepare/audit.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::images;
using test::prepared;

const std::string kTwoLayers = "  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  return d\n";

const AuditedQuantizer& of(const Audit& audit, const std::string& tensor) {
  for (const AuditedQuantizer& row : audit.quantizers) {
    if (row.tensor == tensor) return row;
  }
  throw std::out_of_range(tensor);
}

TEST(Audit, SaysWhatHasCodesAndWhy) {
  const Audit found = audit(prepared(images(kTwoLayers), "generic_int8", {4, 4, {}}));
  ASSERT_EQ(found.quantizers.size(), 5U);
  EXPECT_TRUE(found.in_float.empty());
  const AuditedQuantizer &x = of(found, "x"), &r = of(found, "r"), &w = of(found, "w");
  EXPECT_EQ(x.reason, "input of the network");
  EXPECT_EQ(r.reason, "result of conv2d 'c' with fused relu 'r'");
  EXPECT_EQ(w.reason, "weight of conv2d 'c'");
  EXPECT_EQ(r.layer, "c");
  EXPECT_EQ(r.activation, "relu");
  EXPECT_TRUE(w.is_weight && w.symmetric && !r.is_weight && !r.symmetric);
  EXPECT_EQ(w.axis, 0);
  EXPECT_EQ(w.scale.size(), w.zero_point.size());
  EXPECT_EQ(r.axis, -1);
}

TEST(Audit, BitWidthsAndLearnedScalesAreThoseOfTheQuantizers) {
  const std::string three =
      "  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n";
  const Audit found = audit(prepared(images(three), "pow2_int8", {4, 4, {}}));
  EXPECT_EQ(of(found, "w").bits, 8);
  EXPECT_EQ(of(found, "v").bits, 4);
  EXPECT_EQ(of(found, "v").code_min, -7);
  EXPECT_EQ(of(found, "r").code_max, 15);
  EXPECT_EQ(of(found, "r").quantizer, "lsq");
  EXPECT_EQ(of(found, "v").quantizer, "lsq");
  EXPECT_TRUE(of(found, "r").power_of_two);
  EXPECT_EQ(of(found, "e").quantizer, "fixed");
}

/// The factor of a layer is its input scale times its weight scale, divided by its result scale.
TEST(Audit, SumsAreScaledByWhatTheScalesSay) {
  Model model = prepared(images(kTwoLayers));
  const auto set = [&](const char* name, float scale) {
    for (float& element : model.tensors.at(name).data<float>()) element = scale;
  };
  set("x.scale", 0.5F);
  set("w.scale", 0.25F);
  model.tensors.at("w.scale").data<float>()[0] = 0.03F;
  set("r.scale", 2.0F);
  const AuditedQuantizer r = of(audit(model), "r");
  ASSERT_EQ(r.requantization.size(), 1U);
  EXPECT_EQ(r.requantization[0].most, 0.0625);
  EXPECT_FLOAT_EQ(static_cast<float>(r.requantization[0].least), 0.0075F);
  EXPECT_FALSE(r.requantization[0].powers_of_two);
  set("w.scale", 0.25F);
  EXPECT_TRUE(of(audit(model), "r").requantization[0].powers_of_two);
  EXPECT_TRUE(of(audit(model), "x").requantization.empty());
}

TEST(Audit, NamesWhatSharesAScale) {
  const Audit found = audit(
      prepared(images("  c = conv2d(x, w=@w)\n  d = conv2d(x, w=@w)\n  e = concat(x=[c, d]) {axis: 1}\n  return e\n")));
  EXPECT_EQ(of(found, "c").shares, (std::vector<std::string>{"d"}));
  EXPECT_EQ(of(found, "d").shares, (std::vector<std::string>{"c"}));
  EXPECT_TRUE(of(found, "x").shares.empty());
}

TEST(Audit, NamesAreThoseOfTheFile) {
  Model model = prepared(images(kTwoLayers));
  add_given_name(model.metadata.given_names, "d", "getitem_3");
  EXPECT_EQ(of(audit(model), "getitem_3").layer, "d");
}

/// The audit names everything that stays in float, whoever changed the network.
TEST(Audit, FindsWhatIsInFloat) {
  Model model = prepared(images(kTwoLayers));
  const Op d = model.graph.op("d");
  d.set_operand(d.info().quant.weight, model.graph.tensor("v"));
  const Audit changed = audit(model);
  ASSERT_EQ(changed.in_float.size(), 1U);
  EXPECT_EQ(changed.in_float[0].layer, "d");
  EXPECT_EQ(changed.in_float[0].reason, "its weight has no quantizer");
  const Audit floats = audit(images(kTwoLayers));
  EXPECT_TRUE(floats.quantizers.empty());
  ASSERT_EQ(floats.in_float.size(), 2U);
  EXPECT_EQ(floats.in_float[0].reason, "its weight has no quantizer; its input has no codes");
}

TEST(Audit, FallbacksAreThereOnce) {
  const Audit found =
      audit(prepared(images("  c = conv2d(x, w=@w)\n  k = mul(a=@v, b=@u)\n  s = hardmax(c) {axis: 1}\n"
                            "  d = conv2d(s, w=k)\n  return d\n")));
  std::vector<std::string> layers;
  for (const FloatFallback& fallback : found.in_float) layers.push_back(fallback.layer);
  EXPECT_EQ(std::ranges::count(layers, "d"), 1);
  EXPECT_EQ(std::ranges::count(layers, "s"), 1);
}

TEST(TensorStory, SaysWhyATensorHasAQuantizerOrNone) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  p = max_pool2d(c) {kernel: [2, 2], stride: [2, 2]}\n  "
                                      "d = conv2d(p, w=@v)\n  return d\n"),
                               "tensorrt", {std::nullopt, std::nullopt, std::nullopt, {}, {"p"}});
  const Audit found = audit(model);
  const TensorStory c = story_of(model, found, "c"), d = story_of(model, found, "d"), w = story_of(model, found, "w");
  ASSERT_EQ(c.quantizers.size(), 1U);
  EXPECT_EQ(c.quantizers[0]->reason, "asked for as 'p' by max_pool2d 'p'");
  EXPECT_EQ(c.goes_to, std::vector<std::string>{"max_pool2d 'p'"});
  EXPECT_TRUE(d.quantizers.empty());
  ASSERT_NE(d.in_float, nullptr);
  EXPECT_EQ(d.in_float->reason,
            "its result 'd' has no quantizer on tensorrt (insert.gives and insert.outputs add one)");
  ASSERT_EQ(w.quantizers.size(), 1U);
  EXPECT_EQ(test::diagnostic_of([&] { story_of(model, found, "cc"); }),
            errors::tensor_unknown(model.graph.name(), "cc", ", did you mean 'c'?"));
}

TEST(TensorStory, CodesInOtherPlaces) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  p = max_pool2d(c) {kernel: [2, 2], stride: [2, 2]}\n"
                                      "  d = conv2d(p, w=@v)\n  return d\n"),
                               "generic_int8", {});
  const Audit found = audit(model);
  EXPECT_EQ(story_of(model, found, "p").has_codes_of, "c");
  EXPECT_TRUE(story_of(model, found, "p").quantizers.empty());
}

}  // namespace
}  // namespace halfstep::quant
