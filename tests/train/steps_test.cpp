// A step of an observer covers some samples, whatever the batch of the network and the number of threads are.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/quant/platform/observers.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/support/error.h"

namespace halfstep::train {
namespace {

/// Replaces $ by the batch, in all texts that depend on it.
std::string with_batch(std::string text, const std::string& batch) {
  for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$')) text.replace(at, 1, batch);
  return text;
}

constexpr const char* kImages = R"(graph images(x: f32[$, 3, 8, 8]) {
  param @w: f32[8, 3, 3, 3]
  param @v: f32[4, 512]
  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}
  r = relu(x=c)
  f = flatten(x=r)
  y = linear(f, w=@v)
  return y
})";

/// The batch is the second axis of some values and part of one axis of others.
constexpr const char* kTokens = R"(graph tokens(x: f32[$, 6, 96]) {
  param @q: f32[96, 96]
  param @p: f32[96, 96]
  t = transpose(x) {perm: [1, 0, 2]}
  rows = reshape(x=t) {dims: [-1, 96]}
  a = linear(rows, w=@q)
  g = gelu(x=a)
  z = linear(g, w=@p)
  b = reshape(x=z) {dims: [6, -1, 96]}
  back = transpose(x=b) {perm: [1, 0, 2]}
  keys = transpose(x) {perm: [0, 2, 1]}
  s = matmul(a=back, b=keys)
  m = softmax(x=s) {axis: -1}
  y = matmul(a=m, b=back)
  return y
})";

/// Rows of 1024 elements, and a sum of a part per sample and a common part.
constexpr const char* kRows = R"(graph rows(x: f32[$, 1024]) {
  param @w: f32[24, 1024]
  param @same: f32[24]
  l = linear(x, w=@w)
  e = exp(x=@same)
  y = add(a=l, b=e)
  return y
})";

/// A row in front of each sample. With a dynamic batch it is repeated, otherwise it is stored once per sample.
constexpr const char* kToken = R"(graph token(x: f32[?, 4, 2, 4]) {
  param @w: f32[4, 4, 1, 1]
  param @row: f32[1, 2, 2, 4]
  l = conv2d(x, w=@w)
  p = positions(like=x) {step: 0}
  t = gather(x=@row, indices=p)
  y = concat(x=[t, l]) {axis: 1}
  return y
})";
constexpr const char* kStoredToken = R"(graph token(x: f32[$, 4, 2, 4]) {
  param @w: f32[4, 4, 1, 1]
  param @row: f32[$, 2, 2, 4]
  l = conv2d(x, w=@w)
  y = concat(x=[@row, l]) {axis: 1}
  return y
})";

/// A value made from a dynamic length: the number of each position.
constexpr const char* kPlaces = R"(graph places(x: f32[?, 4, 1, ?]) {
  param @w: f32[4, 4, 1, 1]
  l = conv2d(x, w=@w)
  q = positions(like=x) {axis: 3}
  f = cast(x=q) {to: "f32"}
  r = reshape(x=f) {dims: [1, 1, 1, -1]}
  p = positions(like=x) {step: 0}
  t = gather(x=r, indices=p)
  y = concat(x=[t, l]) {axis: 1}
  return y
})";
constexpr const char* kRepeatedPlaces = R"(graph places(x: f32[$, 4, 1, ?]) {
  param @w: f32[4, 4, 1, 1]
  l = conv2d(x, w=@w)
  q = positions(like=x) {axis: 3}
  f = cast(x=q) {to: "f32"}
  r = reshape(x=f) {dims: [1, 1, 1, -1]}
  t = expand(x=r) {dims: [$, 1, 1, 1]}
  y = concat(x=[t, l]) {axis: 1}
  return y
})";

/// Samples with widely different standard deviations, so that the average of their ranges differs from the range of
/// all.
data::Dataset samples_of(const Dims& sample, int64_t count) {
  data::Dataset data;
  data.name = "given";
  data.raw = false;
  Dims dims = sample;
  dims.insert(dims.begin(), count);
  data.x = Tensor(DType::f32, dims);
  Random random(11, 0);
  const auto values = data.x.data<float>();
  const size_t each = values.size() / static_cast<size_t>(count);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = random.normal() * static_cast<float>(1 + (i / each) * (i / each) % 7);
  return data;
}

struct Case {
  const char* network;
  Dims sample;
  const char* platform = "generic_int8";
};

struct Setting {
  const char* batch;
  int threads;
  CalibrateOptions options;
};

/// `model` is prepared.
Model calibrated(Model model, const Dims& sample, const CalibrateOptions& options, int threads, int64_t count) {
  const data::Dataset data = samples_of(sample, count);
  data::Samples samples{&data, {}, "x", {}};
  for (int64_t i = 0; i < count; ++i) samples.indices.push_back(i);
  ThreadPool pool(threads);
  calibrate(model, samples, options, pool);
  return model;
}

Model prepared(const Model& network, const char* platform, const std::string& observer) {
  return quant::prepare(network, quant::load_platform(platform, {{"activations.observer", observer}}));
}

Model calibrated(const Case& given, const std::string& observer, const Setting& setting, int64_t count) {
  const Model network = initialize(parse(with_batch(given.network, setting.batch), "g.ir"), 3);
  return calibrated(prepared(network, given.platform, observer), given.sample, setting.options, setting.threads, count);
}

/// Tensors of observers that differ between two calibrations.
std::vector<std::string> differing(const Model& a, const Model& b) {
  std::vector<std::string> names;
  for (const auto& observer : a.graph.all<ops::ObserveRange>()) {
    for (const Value tensor :
         {observer.low(), observer.high(), observer.scale(), observer.zero_point(), observer.seen()}) {
      if (tensor && !a.tensors.at(tensor.name()).same_bits(b.tensors.at(tensor.name()))) names.push_back(tensor.name());
    }
  }
  return names;
}

void expect_same_steps(const Case& given, const std::string& observer, const CalibrateOptions& options, int64_t count) {
  const Model open = calibrated(given, observer, {"?", 1, options}, count);
  for (const char* batch : {"?", "1", "7"}) {
    for (const int threads : {1, 2}) {
      const Model other = calibrated(given, observer, {batch, threads, options}, count);
      EXPECT_EQ(differing(open, other), std::vector<std::string>())
          << observer << ", batch " << batch << ", " << threads << " threads";
    }
  }
}

void expect_same_steps(const Case& given) {
  for (const std::string& observer : quant::observer_names()) {
    const bool powers = quant::gives_powers_of_two(observer);
    if (powers != (std::string(given.platform) == "pow2_int8")) continue;
    expect_same_steps(given, observer, {.batch = 20, .batches = 2}, 45);  // not multiples of 7
  }
}

// A3.3, A3.10
TEST(Steps, OfImages) { expect_same_steps({kImages, {3, 8, 8}}); }
TEST(Steps, OfImagesWithPowersOfTwo) { expect_same_steps({kImages, {3, 8, 8}, "pow2_int8"}); }
TEST(Steps, WhereTheBatchIsNotTheFirstAxis) { expect_same_steps({kTokens, {6, 96}}); }
// A3.3, A3.10
TEST(Steps, OfLongRowsAndOfAValueThatDependsOnNoSample) { expect_same_steps({kRows, {1024}}); }

/// Files with a fixed batch store values that `open` repeats.
void expect_same_steps(const char* open, const char* fixed, const Dims& sample) {
  const auto scaled = [&](const char* text, const char* batch, const std::string& observer, int threads) {
    Model network = initialize(parse(with_batch(text, batch), "g.ir"), 3);
    if (const auto row = network.tensors.find("row"); row != network.tensors.end()) {
      const auto values = row->second.data<float>();
      for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25F * static_cast<float>(i % 16);
    }
    Model model = prepared(network, "generic_int8", observer);
    return calibrated(std::move(model), sample, {.batch = 20, .batches = 2}, threads, 45);
  };
  for (const std::string& observer : quant::observer_names()) {
    if (quant::gives_powers_of_two(observer)) continue;
    const Model expected = scaled(open, "?", observer, 1);
    for (const char* batch : {"1", "7"})
      EXPECT_EQ(differing(expected, scaled(fixed, batch, observer, 2)), std::vector<std::string>())
          << observer << ", batch " << batch;
  }
}

TEST(Steps, OfARowThatTheFileRepeats) { expect_same_steps(kToken, kStoredToken, {4, 2, 4}); }
TEST(Steps, OfARowThatTheFileMakesOfALength) { expect_same_steps(kPlaces, kRepeatedPlaces, {4, 1, 9}); }

TEST(Steps, OfFewerSamplesThanAStepAndOfOnesSmallerThanARun) {
  for (const char* observer : {"ema_minmax", "ema_mse", "clip_std"}) {
    expect_same_steps({kImages, {3, 8, 8}}, observer, {.batch = 64, .batches = 8}, 45);
    expect_same_steps({kImages, {3, 8, 8}}, observer, {.batch = 3, .batches = 8}, 45);
  }
}

}  // namespace
}  // namespace halfstep::train
