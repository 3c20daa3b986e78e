// The verbs and the network that came in: who keeps it, and what verify makes of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/ir/parse.h"
#include "halfstep/ir/print.h"
#include "tests/roads/fixture.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

class Sources : public testing::Test {
 protected:
  Sources() {
    const io::Dataset data = open_data("");
    Model network = train::create_network(HALFSTEP_SOURCE_DIR "/tests/roads/meaning.ir", data.sample_dims(), 10, 3);
    train::set_preprocess(network, {.scale = 1.0F / 16});
    Random random(5, 1);  // of a gemm, which the initializer takes for no layer with weights
    for (float& value : network.tensors.at("fc.w").data<float>()) value = 0.5F * random.normal();
    save_model(network, folder / "float");
  }

  Model quantized(int64_t keep, const std::string& name = "prepared") {
    QuantizeRequest request;
    request.model = folder / "float";
    request.out = folder / name;
    request.keep_samples = keep;
    quantize_model(request, {});
    return load_model(folder / name);
  }

  verify::RoadReport verified(bool all = false) {
    convert_model({folder / "prepared", folder / "integer", {}});
    VerifyRequest request;
    request.prepared = folder / "prepared";
    request.integer = folder / "integer";
    request.all_meaning = all;
    return verify_models(request, {});
  }

  TemporaryFolder folder;
};

TEST_F(Sources, AreKeptWithSamples) {
  const Model prepared = quantized(8);
  ASSERT_TRUE(prepared.source);
  EXPECT_EQ(prepared.source->sample_count(), 8);
  const Model network = load_model(folder / "float");
  EXPECT_EQ(prepared.source->network.graph, network.graph);
  for (const auto& [name, tensor] : network.tensors)
    EXPECT_TRUE(prepared.source->network.tensors.at(name).same_bits(tensor)) << name;
  const auto report = verified();
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.unchecked, "");
  EXPECT_EQ(report.meaning_samples, 8 + 64);
  ASSERT_TRUE(report.agreement.has_value());
  EXPECT_GT(*report.agreement, 0.5);
  EXPECT_GT(report.cosine, 0.9);
  for (const auto& layer : report.layers)
    EXPECT_EQ(layer.meaning && layer.meaning->compared > 0, !layer.layer.real_value.empty()) << layer.layer.name;
}

TEST_F(Sources, AreKeptWithoutSamplesForPrivacy) {
  EXPECT_TRUE(quantized(0).source->samples.empty());
  const auto report = verified();
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.meaning_samples, 64) << "of the data that verify has anyway";
  EXPECT_EQ(error_of([&] { quantized(-1); }), "keep-samples: found -1, expected a number of samples, or 0 for none");
}

TEST_F(Sources, SurviveOtherWidthsAndTraining) {
  quantized(2, "before");
  QuantizeRequest request;
  request.model = folder / "before";
  request.out = folder / "prepared";
  request.bits = {{"c*", 2, std::nullopt}};
  quantize_model(request, {});
  EXPECT_EQ(load_model(folder / "prepared").source->sample_count(), 2);
  TrainRequest training;
  training.model = folder / "prepared";
  training.out = folder / "run";
  training.epochs = 2;
  train_model(training, {});
  std::filesystem::copy(folder / "run" / "model.safetensors", folder / "prepared",
                        std::filesystem::copy_options::overwrite_existing);
  const auto report = verified();
  EXPECT_TRUE(report.equal());
  ASSERT_TRUE(report.floats.has_value());
  EXPECT_TRUE(report.floats->trained);
}

TEST_F(Sources, AllElementsOfAllSamplesAreChecked) {
  quantized(1);
  const auto report = verified(true);
  EXPECT_EQ(report.meaning_samples, 1 + 359);
  const auto mean = std::ranges::find_if(report.layers, [](const auto& l) { return l.layer.name == "mean"; });
  EXPECT_EQ(mean->meaning->compared, 360 * 8 * 64);
}

/// The source says an average without padding, and both roads count it.
TEST_F(Sources, AverageOverPaddingIsFoundAndTheLayerNamed) {
  Model prepared = quantized(8);
  Source source = *prepared.source;
  std::string text = print(source.network.graph);
  const std::string counted = "pad: [1, 1, 1, 1]}\n  c2";
  text.replace(text.find(counted), counted.size(), "pad: [1, 1, 1, 1], count_include_pad: false}\n  c2");
  source.network.graph = parse(text, "source.ir");
  prepared.source = std::make_shared<const Source>(source);
  save_model(prepared, folder / "prepared");
  const auto report = verified();
  EXPECT_FALSE(report.equal());
  for (const auto& layer : report.layers) {
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << "the roads agree on " << layer.layer.name;
    EXPECT_EQ(layer.meaning && layer.meaning->beyond > 0, layer.layer.name == "mean") << layer.layer.name;
  }
  EXPECT_EQ(report.floats->structure, "has other attributes at 'mean'");
}

TEST_F(Sources, OlderFilesSayThatNobodyLooked) {
  Model prepared = quantized(8);
  prepared.source = nullptr;
  save_model(prepared, folder / "prepared");
  const auto report = verified();
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.unchecked.substr(0, 74),
            "the prepared Model does not have the network that it was made from, as fil");
}

}  // namespace
}  // namespace halfstep::test
