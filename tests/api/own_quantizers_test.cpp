// Quantizers that a user defines: a network in the place of a quantizer, with declared gradients and codes.
#include "halfstep/api/own_quantizers.h"

#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "halfstep/quant/convert/errors.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

const Dataset& digits() {
  static const Dataset kDigits = data::digits();
  return kDigits;
}

const Model& prepared() {
  static const Model kPrepared = [] {
    const Model network =
        train(create_network("digits", digits(), 0), digits(), {.epochs = 2, .keep_best = false}, {}).model;
    return quantize(network, quant::load_platform("generic_int8"), digits(), {}, {}).model;
  }();
  return kPrepared;
}

/// A quantizer with codes 0..15 and the state `step`. `text` computes its outputs.
Model own_network(const Type& type, const std::string& text) {
  Model model;
  model.graph = parse("graph Own(x: " + to_string(type) + ", step: f32[1]) {\n" + text + "}\n");
  return model;
}

constexpr const char* kUniform = R"(
  a = div(x, b=step)
  b = round(a)
  c = hard_tanh(b) {alpha: 0.0, beta: 15.0}
  d = mul(c, b=step)
)";

OwnQuantizer own(const std::string& selector, const std::string& text, float step = 0.25F) {
  const auto sites = quantizer_sites(prepared(), selector, LayerPart::activations);
  OwnQuantizer one{"Own", sites.front().layer, sites.front().scale, {{"step", Tensor::scalar(step)}}, {}, {}};
  one.codes = {0, 15};
  for (const QuantizerSite& site : sites) one.networks.emplace(site.quantizer, own_network(site.type, text));
  return one;
}

const std::string kDeclares =
    std::string(kUniform) +
    "  z = sub(step, b=step)\n"
    "  e = sub(x, b=x)\n"
    "  return result = d, derivative.x = e, derivative.step = c, scale = step, zero_point = z\n";

TEST(OwnQuantizers, SitesAreFoundByLayerValueAndKind) {
  const auto of_layer = quantizer_sites(prepared(), "conv2", LayerPart::activations);
  ASSERT_EQ(of_layer.size(), 1U);
  EXPECT_EQ(quantizer_sites(prepared(), of_layer[0].quantizer.substr(0, of_layer[0].quantizer.rfind(".q")),
                            LayerPart::weights)[0]
                .scale,
            of_layer[0].scale)
      << "the value by its name";
  const auto weights = quantizer_sites(prepared(), "conv2", LayerPart::weights);
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights[0].low.dims().size(), 4U);
  EXPECT_EQ(weights[0].low.dims()[0], weights[0].type.dims[0]);
  EXPECT_GT(quantizer_sites(prepared(), "op:conv2d", LayerPart::activations).size(), 2U);
  EXPECT_EQ(test::name_of([] { quantizer_sites(prepared(), "conv9", LayerPart::activations); }),
            "selector_matches_nothing");
}

// A2.28
TEST(OwnQuantizers, TrainConvertAndEqualTheirIntegers) {
  const QuantizeResult put = with_own_quantizers(prepared(), {own("conv2", kDeclares)});
  const auto row = std::ranges::find(put.audit.quantizers, "Own", &quant::AuditedQuantizer::quantizer);
  ASSERT_NE(row, put.audit.quantizers.end());
  EXPECT_EQ(row->scale, std::vector{0.25F});
  EXPECT_EQ(row->bits, 4);
  const Model trained = train(put.model, digits(), {.epochs = 1, .keep_best = false}, {}).model;
  const std::string step = put.model.metadata.learned_quantizers.front().tensors.at("step");
  EXPECT_FALSE(trained.tensors.at(step).same_bits(put.model.tensors.at(step))) << "it learns";
  const auto integer = convert(trained);
  EXPECT_TRUE(verify(trained, integer.model, digits(), {}, {}).equal());
  EXPECT_GT(evaluate(integer.model, digits(), {}, {}).accuracy, 0.8);
}

// A2.28
/// The derivative with respect to x is 0 here, so nothing before the quantizer learns.
TEST(OwnQuantizers, GradientsAreTheDeclaredOnes) {
  const Model put = with_own_quantizers(prepared(), {own("conv2", kDeclares)}).model;
  const Model trained = train(put, digits(), {.epochs = 1, .weight_decay = 0, .keep_best = false}, {}).model;
  EXPECT_TRUE(trained.tensors.at("conv1.w").same_bits(put.tensors.at("conv1.w")));
  EXPECT_TRUE(trained.tensors.at("conv2.w").same_bits(put.tensors.at("conv2.w")));
  EXPECT_FALSE(trained.tensors.at("conv3.w").same_bits(put.tensors.at("conv3.w")));
}

TEST(OwnQuantizers, FilesHoldThem) {
  const Model put = with_own_quantizers(prepared(), {own("conv2", kDeclares)}).model;
  const test::TemporaryFolder folder;
  save(put, folder.path() / "prepared.safetensors");
  const Model loaded = load(folder.path() / "prepared.safetensors");
  EXPECT_EQ(digest_hex(convert(loaded).model), digest_hex(convert(put).model));
}

TEST(OwnQuantizers, WithoutAScaleTheyHaveNoIntegers) {
  const Model put =
      with_own_quantizers(prepared(), {own("conv2", std::string(kUniform) + "  return result = d, derivative.x = x\n")})
          .model;
  EXPECT_GT(evaluate(put, digits(), {}, {}).accuracy, 0.5);
  EXPECT_EQ(test::name_of([&] { convert(put); }), "own_quantizer_without_scale");
}

TEST(OwnQuantizers, OtherValuesThanDeclaredAreRefused) {
  const std::string text = std::string(kUniform) +
                           "  z = sub(step, b=step)\n  t = add(step, b=step)\n"
                           "  return result = d, derivative.x = x, scale = t, zero_point = z\n";
  const Model put = with_own_quantizers(prepared(), {own("conv2", text)}).model;
  EXPECT_EQ(test::name_of([&] { convert(put); }), "own_quantizer_differs");
}

TEST(OwnQuantizers, WrongTypesAndCodesAreNamed) {
  const auto refusal = [](const OwnQuantizer& one) {
    Diagnostic found = test::diagnostic_of([&] { with_own_quantizers(prepared(), {one}); });
    EXPECT_EQ(found.layer, one.scale == "none" ? "" : "conv2");
    found.layer.clear();
    return found;
  };
  const std::string type = to_string(quantizer_sites(prepared(), "conv2", LayerPart::activations)[0].type);
  EXPECT_EQ(refusal(own("conv2", "  a = add(step, b=step)\n  return result = a, derivative.x = x\n")),
            errors::own_quantizer_result("conv2", "Own", "result", "f32[1]", type));
  EXPECT_EQ(
      refusal(own("conv2", std::string(kUniform) + "  e = concat(x=[step, step]) {axis: 0}\n"
                                                   "  return result = d, derivative.x = e\n")),
      errors::own_quantizer_result("conv2", "Own", "derivative.x", "f32[2]", "a type that broadcasts to " + type));
  OwnQuantizer is_signed = own("conv2", kDeclares);
  is_signed.codes = {-8, 7};
  EXPECT_EQ(refusal(is_signed), errors::own_quantizer_codes("conv2", "Own", "-8..7", "codes from 0"));
  OwnQuantizer lost = own("conv2", kDeclares);
  lost.scale = "none";
  EXPECT_EQ(refusal(lost), errors::own_quantizer_without_site("none"));
}

TEST(OwnQuantizers, DeclaredNumbersMustBePossible) {
  const auto refusal = [](const std::string& text, float step) {
    return test::name_of([&] { with_own_quantizers(prepared(), {own("conv2", text, step)}); });
  };
  EXPECT_EQ(refusal(kDeclares, -1.0F), "own_quantizer_declaration");
  const std::string half =
      std::string(kUniform) + "  return result = d, derivative.x = x, scale = step, zero_point = step\n";
  EXPECT_EQ(refusal(half, 0.5F), "own_quantizer_declaration");
}

TEST(OwnQuantizers, TheirBitsStay) {
  const Model put = with_own_quantizers(prepared(), {own("conv2", kDeclares)}).model;
  EXPECT_EQ(test::name_of([&] { change_bits(put, {{"conv2", std::nullopt, 8}}); }), "own_quantizer_has_bits");
}

}  // namespace
}  // namespace halfstep::api
