#include "halfstep/data/pipeline/preprocess.h"

#include <gtest/gtest.h>

#include "halfstep/data/pipeline/errors.h"
#include "halfstep/data/pipeline/samples.h"
#include "tests/support/error.h"

namespace halfstep::data {
using test::diagnostic_of;

namespace {

Tensor floats(Dims dims, std::vector<float> values) {
  return Tensor::of<float>(DType::f32, std::move(dims), std::span<const float>(values));
}

TEST(Preprocess, ScalesThenSubtractsThenDividesByChannel) {
  const data::Preprocess p{.scale = 0.5F, .mean = {1, 2}, .deviation = {4, 0.25F}};
  const Tensor x = p.apply(floats({1, 2, 1, 2}, {2, 10, 4, 6}));
  EXPECT_TRUE(x.same_bits(floats({1, 2, 1, 2}, {0, 1, 0, 4})));
}

TEST(Preprocess, OneNumberServesAllChannels) {
  const data::Preprocess p{.mean = {1}, .deviation = {2}};
  EXPECT_TRUE(p.apply(floats({1, 3}, {1, 3, 5})).same_bits(floats({1, 3}, {0, 1, 2})));
}

TEST(Preprocess, MeansCountTheNetworksChannels) {
  const data::Preprocess p{.mean = {3, 2, 1}, .reverses_channels = true};
  EXPECT_TRUE(p.apply(floats({1, 3, 1, 1}, {1, 2, 3})).same_bits(floats({1, 3, 1, 1}, {0, 0, 0})));
}

TEST(Preprocess, ChannelsGoLast) {
  const data::Preprocess p{.channels_last = true};
  EXPECT_EQ(p.sample_dims({2, 3, 5}), (Dims{3, 5, 2}));
  EXPECT_TRUE(p.apply(floats({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})).same_bits(floats({1, 1, 3, 2}, {1, 4, 2, 5, 3, 6})));
}

TEST(Preprocess, TravelsWithAModel) {
  Model model;
  EXPECT_EQ(data::preprocess_of(model), data::Preprocess());
  const data::Preprocess p{.scale = 1.0F / 255,
                           .mean = {0.1F, 0.2F},
                           .deviation = {0.3F},
                           .reverses_channels = true,
                           .channels_last = true,
                           .frame = {.resize = 9, .crop = 5, .ignores_orientation = true}};
  const data::Preprocess sized{.frame = {.size = {7, 8}}};
  for (const data::Preprocess& one : {sized, p}) {
    data::set_preprocess(model, one);
    EXPECT_EQ(data::preprocess_of(model), one);
  }
  model.metadata.preprocess->scale = 0;
  EXPECT_EQ(diagnostic_of([&] { data::preprocess_of(model); }),
            errors::preprocess_number("network 'graph': preprocessing", "scale", 0, "a number that is not 0"));
}

TEST(Preprocess, RefusesWhatIsNoPreprocessing) {
  const auto error = [](const std::string& text) {
    return diagnostic_of([&] { applied(data::parse_preprocess_options(text, "it"), {}); });
  };
  EXPECT_EQ(error("scale"), errors::preprocess_not_json("it", "scale"));
  EXPECT_EQ(error(R"({"scale": "big"})"), errors::preprocess_value("it", "scale", "a number"));
  EXPECT_EQ(error(R"({"scale": 0})"), errors::preprocess_number("preprocessing", "scale", 0, "a number that is not 0"));
  EXPECT_EQ(error(R"({"mean": [1, "x"]})"), errors::preprocess_value("it", "mean", "a list of numbers"));
  EXPECT_EQ(error(R"({"std": [0]})"), errors::preprocess_number("preprocessing", "std", 0, "numbers above 0"));
  EXPECT_EQ(error(R"({"mean": [1, 2], "std": [1, 2, 3]})"), errors::preprocess_lengths("preprocessing", 2, 3));
  EXPECT_EQ(diagnostic_of([] {
              data::Preprocess{.mean = {1, 2}}.apply(floats({1, 3}, {1, 2, 3}));
            }),
            errors::preprocess_channels("mean", 2, 3));
}

/// Data sets with raw values are preprocessed, tensors of a file are not.
TEST(Samples, OnlyRawValuesArePreprocessed) {
  data::Dataset data{.x = floats({2, 1}, {2, 4}), .labels = Tensor(DType::i32, {2})};
  data::Samples samples{&data, {1, 0}, "image", {.scale = 0.5F}};
  EXPECT_TRUE(samples.inputs(0, 2).at("image").same_bits(floats({2, 1}, {2, 1})));
  data.raw = false;
  EXPECT_TRUE(samples.inputs(0, 2).at("image").same_bits(floats({2, 1}, {4, 2})));
}

TEST(Samples, NamedInputsKeepTheirTypes) {
  data::Dataset data;
  data.inputs["ids"] = Tensor(DType::i64, {3, 2});
  data.inputs["ids"].data<int64_t>()[4] = 7;
  const data::TrainTest parts = split(data);
  EXPECT_EQ(parts.test.size(), 3);
  const Tensors inputs = parts.train.inputs(2, 1);
  EXPECT_EQ(inputs.at("ids").data<int64_t>()[0], 7);
  EXPECT_EQ(parts.train.extents(5).at("ids"), (Dims{5, 2}));
}

}  // namespace
}  // namespace halfstep::data
