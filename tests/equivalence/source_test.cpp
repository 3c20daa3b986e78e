// The verbs and the source model: which Models keep it, and how verify uses it.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "tests/equivalence/fixture.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

class Sources : public testing::Test {
 protected:
  Sources()
      : network(
            train::create_network(HALFSTEP_SOURCE_DIR "/tests/equivalence/semantics.ir", data.sample_dims(), 10, 3)) {
    data::set_preprocess(network, {.scale = 1.0F / 16});
    Random random(5, 1);  // a weight of a gemm that the initializer does not treat as a layer with weights
    for (float& value : network.tensors.at("fc.w").data<float>()) value = 0.5F * random.normal();
  }

  Model quantized(int64_t stored) {
    return api::quantize(network, quant::load_platform("generic_int8"), data, {.keep_samples = stored}, {}).model;
  }

  /// Verifies the Model after a round trip through a file.
  verify::VerifyReport verified(const Model& prepared, bool all = false) {
    api::save(prepared, folder / "prepared");
    const Model read = api::load(folder / "prepared");
    return api::verify(read, api::convert(read).model, data,
                       {.semantics = all ? api::SemanticCheck::all : api::SemanticCheck::sampled}, {});
  }

  TemporaryFolder folder;
  const api::Dataset data = data::digits();
  Model network;
};

TEST_F(Sources, AreStoredWithSamples) {
  const Model prepared = quantized(8);
  ASSERT_TRUE(prepared.source);
  EXPECT_EQ(prepared.source->sample_count(), 8);
  EXPECT_EQ(prepared.source->network.graph, network.graph);
  for (const auto& [name, tensor] : network.tensors)
    EXPECT_TRUE(prepared.source->network.tensors.at(name).same_bits(tensor)) << name;
  const auto report = verified(prepared);
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.unchecked, "");
  EXPECT_EQ(report.semantic_samples, 8 + 64);
  ASSERT_TRUE(report.agreement.has_value());
  EXPECT_GT(*report.agreement, 0.5);
  EXPECT_GT(report.cosine, 0.9);
  for (const auto& layer : report.layers)
    EXPECT_EQ(layer.semantics && layer.semantics->compared > 0, !layer.layer.real_value.empty()) << layer.layer.name;
}

TEST_F(Sources, AreStoredWithoutSamplesForPrivacy) {
  const Model prepared = quantized(0);
  EXPECT_TRUE(prepared.source->samples.empty());
  const auto report = verified(prepared);
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.semantic_samples, 64) << "of the data that verify has anyway";
  EXPECT_EQ(diagnostic_of([&] { quantized(-1); }), errors::number_out_of_range("keep_samples", -1, "at least 0"));
}

TEST_F(Sources, SurviveOtherBitWidthsAndTraining) {
  const Model prepared = api::change_bits(quantized(2), {{"c*", 2, std::nullopt}}).model;
  EXPECT_EQ(prepared.source->sample_count(), 2);
  const auto report = verified(api::train(prepared, data, {.epochs = 2}, {}).model);
  EXPECT_TRUE(report.equal());
  ASSERT_TRUE(report.floats.has_value());
  EXPECT_TRUE(report.floats->trained);
}

// A12.6
TEST_F(Sources, AllElementsOfAllSamplesAreChecked) {
  const auto report = verified(quantized(1), true);
  EXPECT_EQ(report.semantic_samples, 1 + 359);
  const auto mean = std::ranges::find_if(report.layers, [](const auto& l) { return l.layer.name == "mean"; });
  EXPECT_EQ(mean->semantics->compared, 360 * 8 * 64);
}

/// The source model has an average that excludes padding. Both execution paths count the padding.
// A12.8
TEST_F(Sources, AverageOverPaddingIsFoundAndTheLayerNamed) {
  Model prepared = quantized(8);
  Source source = *prepared.source;
  std::string text = print(source.network.graph);
  const std::string counted = "pad: [1, 1, 1, 1]}\n  c2";
  text.replace(text.find(counted), counted.size(), "pad: [1, 1, 1, 1], count_include_pad: false}\n  c2");
  source.network.graph = parse(text, "source.ir");
  prepared.source = std::make_shared<const Source>(source);
  const auto report = verified(prepared);
  EXPECT_FALSE(report.equal());
  for (const auto& layer : report.layers) {
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << "the paths agree on " << layer.layer.name;
    EXPECT_EQ(layer.semantics && layer.semantics->beyond > 0, layer.layer.name == "mean") << layer.layer.name;
  }
  EXPECT_EQ(report.floats->structure, "has different attributes at 'mean'");
}

TEST_F(Sources, OlderFilesSayThatNobodyLooked) {
  Model prepared = quantized(8);
  prepared.source = nullptr;
  const auto report = verified(prepared);
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.unchecked.substr(0, 57), "the prepared Model does not contain its source model (old");
}

}  // namespace
}  // namespace halfstep::test
