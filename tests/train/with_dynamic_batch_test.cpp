// Training takes the same steps, whatever the batch of the file is.
#include "halfstep/train/evaluate/with_dynamic_batch.h"

#include <gtest/gtest.h>

#include <functional>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/graph/dynamic_batch.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/train/loop/fit.h"

namespace halfstep::train {
namespace {

constexpr int64_t kSamples = 45;  // not a multiple of 7

/// Text as an exporter writes it: the argument with the batch, and a reshape with the number or, if it is dynamic, with
/// -1.
std::string with_batch(std::string text, const std::string& batch) {
  text.replace(text.find('$'), 1, batch);
  if (const size_t at = text.find('$'); at != std::string::npos) text.replace(at, 1, batch == "?" ? "-1" : batch);
  return text;
}

constexpr const char* kImages = R"(graph images(x: f32[$, 3, 6, 6]) {
  param @w: f32[8, 3, 3, 3]
  param @s: f32[8]
  param @t: f32[8]
  state @m: f32[8]
  state @u: f32[8]
  param @v: f32[4, 288]
  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}
  n = batch_norm(x=c, scale=@s, bias=@t, mean=@m, variance=@u)
  r = relu(x=n)
  f = reshape(x=r) {dims: [$, 288]}
  y = linear(f, w=@v)
  return y
})";

/// Extents follow the batch, but samples are not independent: the shares of all add up to 1.
constexpr const char* kMixed = R"(graph mixed(x: f32[$, 3, 6, 6]) {
  param @v: f32[4, 108]
  m = softmax(x) {axis: 0}
  f = flatten(x=m)
  y = linear(f, w=@v)
  return y
})";

data::Dataset images(bool labelled) {
  data::Dataset data;
  data.name = "given";
  data.raw = false;
  data.x = Tensor(DType::f32, {kSamples, 3, 6, 6});
  Random random(11, 0);
  const auto values = data.x.data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = random.normal() * static_cast<float>(1 + (i / 108) % 7) / 4;
  if (!labelled) return data;
  data.labels = Tensor(DType::i32, {kSamples});
  for (size_t i = 0; i < kSamples; ++i) data.labels.data<int32_t>()[i] = static_cast<int32_t>(i % 4);
  data.classes = {"a", "b", "c", "d"};
  return data;
}

data::Samples all_of(const data::Dataset& data) {
  data::Samples all{&data, {}, "x", {}};
  for (int64_t i = 0; i < data.size(); ++i) all.indices.push_back(i);
  return all;
}

using Start = std::function<Model(Model network, const data::Samples& samples)>;

Model in_float(Model network, const data::Samples&) { return network; }

Start prepared(quant::BatchNorms norms) {
  return [norms](const Model& network, const data::Samples& samples) {
    quant::PrepareOptions options;
    options.batch_norm = norms;
    Model model = quant::prepare(network, quant::load_platform("generic_int8"), options);
    ThreadPool pool(1);
    calibrate(model, samples, {}, pool);
    return model;
  };
}

FitOptions options_for(double rate) {
  FitOptions options;
  options.epochs = 2;
  options.batch = 16;
  options.learning_rate = rate;
  options.ema = 0.5;
  options.keep_best = true;
  return options;
}

struct Trained {
  Model model;
  std::string history;
};

Trained trained(const Start& start, const std::string& batch, const data::Dataset& data, const FitOptions& options) {
  const Model model = start(initialize(parse(with_batch(kImages, batch), "g.ir"), 3), all_of(data));
  const data::Samples samples = all_of(data);
  ThreadPool pool(2);
  Fit fit(model, samples, options, pool);
  while (!fit.finished()) fit.run_epoch();
  EXPECT_TRUE(fit.notes().empty());
  const Model current = fit.current();
  EXPECT_EQ(current.graph, model.graph) << batch;
  return {fit.renormalized().model.graph == model.graph ? current : Model(), to_text(fit.state().history)};
}

/// Compares everything that training leaves, including its results on the validation split.
void expect_same_training(const Start& start, bool labelled, const FitOptions& options) {
  const data::Dataset data = images(labelled);
  const Trained open = trained(start, "?", data, options);
  EXPECT_FALSE(open.model.tensors.empty());
  for (const char* batch : {"1", "7"}) {
    const Trained other = trained(start, batch, data, options);
    EXPECT_EQ(other.history, open.history) << batch;
    for (const auto& [name, tensor] : open.model.tensors)
      EXPECT_TRUE(tensor.same_bits(other.model.tensors.at(name))) << name << ", batch " << batch;
  }
}

TEST(WithDynamicBatch, FloatNetworksLearnTheSame) { expect_same_training(in_float, true, options_for(0.05)); }

TEST(WithDynamicBatch, FoldedOnesLearnTheSameFromTheirFloatForm) {
  expect_same_training(prepared(quant::BatchNorms::folded), false, options_for(0.01));
}

TEST(WithDynamicBatch, LiveNormsSeeTheSameBatches) {
  FitOptions options = options_for(0.01);
  options.recipe.renormalize = 2;
  expect_same_training(prepared(quant::BatchNorms::live), true, options);
}

TEST(WithDynamicBatch, TeachersTakeAsManySamples) {
  FitOptions options = options_for(0.01);
  for (const char* batch : {"1", "7"})
    options.teachers.push_back(initialize(parse(with_batch(kImages, batch), "g.ir"), 5));
  expect_same_training(prepared(quant::BatchNorms::frozen), true, options);
}

TEST(WithDynamicBatch, SamplesThatAreNotApartKeepTheirBatch) {
  const data::Dataset data = images(true);
  const data::Samples samples = all_of(data);
  ThreadPool pool(1);
  const Model model = initialize(parse(with_batch(kMixed, "7"), "g.ir"), 3);
  EXPECT_TRUE(passes::dynamic_batch(model).has_value());
  const Model same = with_dynamic_batch(model, samples, pool);
  EXPECT_FALSE(passes::has_dynamic_batch(same));
  EXPECT_EQ(same.graph, model.graph);
  Fit fit(model, samples, options_for(0.01), pool);
  fit.run_epoch();
  ASSERT_EQ(fit.notes().size(), 1);
  EXPECT_NE(fit.notes()[0].find("takes 7 samples at once"), std::string::npos) << fit.notes()[0];
}

}  // namespace
}  // namespace halfstep::train
