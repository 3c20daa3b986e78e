// Samples with a label for each position, as a language model has them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "halfstep/api/errors.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep::api {
namespace {

constexpr int64_t kSamples = 60, kPlaces = 6, kWords = 5;

/// Each word is followed by the next one, so the word at a position alone determines its label.
Tensors words(int64_t samples = kSamples) {
  Tensor ids(DType::i64, {samples, kPlaces}), labels(DType::i64, {samples, kPlaces});
  for (int64_t i = 0; i < ids.size(); ++i) {
    const int64_t word = (i * 7 + i / kPlaces) % kWords;
    ids.data<int64_t>()[static_cast<size_t>(i)] = word;
    labels.data<int64_t>()[static_cast<size_t>(i)] = (word + 1) % kWords;
  }
  return {{"ids", ids}, {"labels", labels}};
}

Model network() {
  return train::initialize(parse(R"(graph next(ids: i64[?, 6]) {
  param @table: f32[5, 8]
  param @norm.scale: f32[8]
  param @norm.bias: f32[8]
  param @w: f32[5, 8]
  word = gather(x=@table, indices=ids)
  flat = reshape(word) {dims: [-1, 8]}
  norm = layer_norm(flat, scale=@norm.scale, bias=@norm.bias)
  head = linear(norm, w=@w)
  out = reshape(head) {dims: [-1, 6, 5]}
  return out
}
)",
                                 "next.ir"),
                           1);
}

TEST(Sequences, LearnALabelForEachPlace) {
  const Dataset data = make_data(words(), "words");
  EXPECT_EQ(data.labels_each(), kPlaces);
  const TrainResult trained = train(network(), data, {.epochs = 30, .batch = 8, .learning_rate = 0.5}, {});
  EXPECT_EQ(trained.tested, "a fifth of the samples");
  EXPECT_EQ(trained.accuracy, 1.0);
  const EvaluateResult before = evaluate(network(), data, {}, {}), after = evaluate(trained.model, data, {}, {});
  EXPECT_LT(before.accuracy, 1.0);
  EXPECT_LT(after.loss, before.loss);
  EXPECT_EQ(after.samples, kSamples / 5);
}

TEST(Sequences, GoAllTheWayToIntegers) {
  const Dataset data = make_data(words(), "words");
  const Model in_float = train(network(), data, {.epochs = 30, .batch = 8, .learning_rate = 0.5}, {}).model;
  const Model prepared = quantize(in_float, quant::load_platform("generic_int8"), data, {}, {}).model;
  TrainOptions options{.epochs = 3, .batch = 8, .learning_rate = 0.1, .keep_best = false};
  options.recipe.label_smoothing = 0.1;
  const TrainResult tuned = train(prepared, data, options, {});
  // The semantic check uses the norm's trained values in the source model.
  EXPECT_FALSE(tuned.model.tensors.at("norm.scale").same_bits(prepared.tensors.at("norm.scale")));
  const Model integer = convert(tuned.model).model;
  EXPECT_EQ(evaluate(integer, data, {}, {}).accuracy, 1.0);
  EXPECT_EQ(evaluate(integer, data, {}, {}).loss, evaluate(tuned.model, data, {}, {}).loss);
  EXPECT_TRUE(verify(tuned.model, integer, data, {}, {}).equal());
}

TEST(Sequences, LossIsTheMeanOfAllLabels) {
  DataOptions all;
  all.all = true;
  const Dataset data = make_data(words(2), "words", all);
  Model even = network();
  for (auto& [name, tensor] : even.tensors) std::ranges::fill(tensor.data<float>(), 0.0F);
  EXPECT_DOUBLE_EQ(evaluate(even, data, {}, {}).loss, std::log(5.0));
}

TEST(Sequences, ComeInParts) {
  const Tensors train = words(20), test = words(8);
  const Dataset data = make_data({{"ids_train", train.at("ids")},
                                  {"labels_train", train.at("labels")},
                                  {"ids_test", test.at("ids")},
                                  {"labels_test", test.at("labels")}},
                                 "words");
  const EvaluateResult found = evaluate(network(), data, {}, {});
  EXPECT_EQ(found.samples, 8);
  EXPECT_EQ(found.tested, "ids_test");
}

TEST(Sequences, AreRefusedWhereLabelsAreNotAsMany) {
  Tensors samples = words();
  samples.at("labels") = Tensor(DType::i64, {kSamples, kPlaces - 1});
  const Dataset data = make_data(samples, "words");
  const auto trained = test::diagnostics_of([&] { train(network(), data, {.epochs = 1}, {}); });
  for (const char* value : {"'next'", "'out'", "f32[?, 6, 5]", "'words'", "5"})
    EXPECT_TRUE(test::mentions(trained, value)) << value;
  EXPECT_TRUE(test::mentions(test::diagnostics_of([&] { evaluate(network(), data, {}, {}); }), "60"));
  constexpr std::array<int32_t, kPlaces> kLabels = {0, 1, 2, 3, 4, 5};
  samples.at("labels") = Tensor::of<int32_t>(DType::i32, {1, kPlaces}, kLabels);
  samples.at("ids") = Tensor(DType::i64, {1, kPlaces});
  EXPECT_EQ(test::diagnostic_of([&] { evaluate(network(), make_data(samples, "words"), {}, {}); }),
            errors::label_above_classes("words", 5, 5, 4, "next", 5));
}

/// Integers other than u8 are ids. An image network does not accept them.
TEST(Sequences, AreRefusedByANetworkOfFloats) {
  const Model floats = train::initialize(
      parse("graph g(x: f32[?, 6]) {\n  param @w: f32[5, 6]\n  y = linear(x, w=@w)\n  return y\n}\n", "g.ir"), 1);
  const Tensors ids = {{"x", words().at("ids")}, {"labels", Tensor(DType::i64, {kSamples})}};
  EXPECT_EQ(test::diagnostic_of([&] { evaluate(floats, make_data(ids, "words"), {}, {}); }),
            errors::samples_of_other_type("words", "x", "i64", "f32", "g", "save the array as f32"));
  const Model wide =
      train::initialize(parse("graph g(floats: f64[?, 6]) {\n  y = relu(floats)\n  return y\n}\n", "g.ir"), 1);
  const Tensors doubles = {{"floats", Tensor(DType::f64, {kSamples, 6})}, {"labels", Tensor(DType::i64, {kSamples})}};
  EXPECT_EQ(test::diagnostic_of([&] { evaluate(wide, make_data(doubles, "words"), {}, {}); }),
            errors::samples_of_other_type("words", "floats", "f32", "f64", "g",
                                          "data sets cannot contain f64; export the network with an f32 input"));
}

}  // namespace
}  // namespace halfstep::api
