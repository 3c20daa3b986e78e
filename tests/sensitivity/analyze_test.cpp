// Numbers of an analysis, compared with values computed by hand.
#include "halfstep/tune/sensitivity/analysis.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/sensitivity/effects.h"
#include "halfstep/tune/sensitivity/errors.h"
#include "halfstep/tune/sensitivity/network_pieces.h"
#include "tests/support/error.h"

namespace halfstep::sensitivity {
namespace {

constexpr int64_t kSamples = 96, kInputs = 8, kOutputs = 5;

data::Dataset random_data(bool labelled) {
  data::Dataset data;
  data.name = "random";
  data.x = Tensor(DType::f32, {kSamples, kInputs});
  Random random(5, 0);
  for (float& value : data.x.data<float>()) value = random.normal();
  data.raw = false;
  if (!labelled) return data;
  data.labels = Tensor(DType::i32, {kSamples});
  for (int64_t i = 0; i < kSamples; ++i)
    data.labels.data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i % kOutputs);
  data.classes = {"a", "b", "c", "d", "e"};
  return data;
}

data::Samples all_of(const data::Dataset& data) {
  data::Samples samples{&data, {}, "x", {}};
  for (int64_t i = 0; i < data.size(); ++i) samples.indices.push_back(i);
  return samples;
}

Model one_layer() {
  return train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @w: f32[5, 8]\n  y = linear(x, w=@w)\n  return y\n}\n", "g.ir"), 3);
}

Model two_layers() {
  return train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[16, 8]\n  param @v: f32[5, 16]\n  a = linear(x, w=@u)\n"
            "  r = relu(a)\n  y = linear(r, w=@v)\n  return y\n}\n",
            "g.ir"),
      3);
}

/// A network of `count` layers, with sums around every second one.
Model many_layers(int count) {
  std::string params = "  param @first: f32[8, 8]\n", body = "  v0 = linear(x, w=@first)\n";
  for (int i = 0; i < count; ++i) {
    params += fmt::format("  param @w{}: f32[8, 8]\n", i);
    body += fmt::format("  r{0} = relu(v{0})\n  a{0} = linear(r{0}, w=@w{0})\n", i);
    body += i % 2 == 0 ? fmt::format("  v{} = tanh(a{})\n", i + 1, i)
                       : fmt::format("  v{} = add(a=a{}, b=v{})\n", i + 1, i, i - 1);
  }
  return train::initialize(
      parse(fmt::format("graph g(x: f32[?, 8]) {{\n{}{}  return y = v{}\n}}\n", params, body, count), "g.ir"), 3);
}

Model prepared(const Model& network, const data::Dataset& data, const quant::PrepareOptions& bit_widths = {},
               const char* platform = "generic_int8") {
  Model model = quant::prepare(network, quant::load_platform(platform), bit_widths);
  ThreadPool pool(1);
  train::calibrate(model, all_of(data), {.batch = 32, .batches = 3}, pool);
  return model;
}

Analysis analyzed(const Model& model, const data::Dataset& data, AnalyzeOptions options = {}, int threads = 1) {
  ThreadPool pool(threads);
  return analyze(model, all_of(data), options, pool);
}

const QuantizerAnalysis& of(const Analysis& analysis, const std::string& tensor) {
  const auto found =
      std::ranges::find_if(analysis.quantizers, [&](const auto& one) { return one.quantizer.tensor == tensor; });
  EXPECT_NE(found, analysis.quantizers.end()) << tensor;
  return *found;
}

/// The input's statistics with the scale and zero point of the audit, computed number by number.
TEST(Analyze, StatisticsAreThoseByHand) {
  const data::Dataset data = random_data(true);
  const Model model = prepared(two_layers(), data, {.weight_bits = 3, .activation_bits = 3, .first_last_bits = 3});
  const Analysis analysis = analyzed(model, data);
  const QuantizerAnalysis& input = of(analysis, "x");
  const double scale = static_cast<double>(input.quantizer.scale[0]);
  double signal = 0, noise = 0, product = 0, found = 0;
  int64_t clipped = 0;
  std::set<int64_t> codes;
  for (const float x : data.x.data<float>()) {
    const double wanted = static_cast<double>(x);
    const auto unclamped = std::llrint(std::nearbyint(wanted / scale)) + input.quantizer.zero_point[0];
    const int64_t code = std::clamp<int64_t>(unclamped, 0, 7);
    const double value = scale * static_cast<double>(code - input.quantizer.zero_point[0]);
    clipped += code == unclamped ? 0 : 1;
    codes.insert(code);
    signal += wanted * wanted;
    noise += (wanted - value) * (wanted - value);
    product += wanted * value;
    found += value * value;
  }
  EXPECT_NEAR(input.seen.alone.sqnr_db(), 10 * std::log10(signal / noise), 1e-4);
  EXPECT_NEAR(input.seen.alone.cosine(), product / std::sqrt(signal * found), 1e-6);
  EXPECT_EQ(input.seen.clipped, clipped);
  EXPECT_GT(clipped, 0);
  EXPECT_EQ(input.seen.elements, kSamples * kInputs);
  EXPECT_DOUBLE_EQ(*input.seen.unused, 1 - static_cast<double>(codes.size()) / 8);
  int64_t counted = 0;
  for (const int64_t count : input.seen.histogram.counts) counted += count;
  EXPECT_EQ(counted, input.seen.elements);
  EXPECT_LE(input.seen.histogram.low, static_cast<double>(input.seen.low));
  EXPECT_GT(input.seen.histogram.high, static_cast<double>(input.seen.high));
  EXPECT_NEAR(input.seen.reached->sqnr_db(), input.seen.alone.sqnr_db(), 1e-4) << "nothing is before the input";
  EXPECT_LT(of(analysis, "y").seen.reached->sqnr_db(), of(analysis, "y").seen.alone.sqnr_db());
}

/// For y = W x with loss mean((y - t)^2) / s^2 over 5 outputs, the Hessian is known: 2 / 5 s^2 for each output.
TEST(Analyze, CurvatureOfALinearLayerIsKnown) {
  const data::Dataset data = random_data(false);
  const Model network = one_layer();
  const Model model = prepared(network, data, {.weight_bits = 4, .activation_bits = 4, .first_last_bits = 4});
  const Analysis analysis = analyzed(model, data, {.directions = 64});
  EXPECT_FALSE(analysis.has_labels);
  ThreadPool pool(1);
  train::BatchRunner runner(train::evaluation_form(network), {}, pool);
  const auto spreads = train::spreads_of(network, train::answers_of(runner), all_of(data), kSamples, 0);
  const auto spread = static_cast<double>(spreads.at("y"));
  double squares = 0;
  for (const float x : data.x.data<float>()) squares += static_cast<double>(x) * static_cast<double>(x);
  const double of_weights = 2 / (spread * spread) * squares / static_cast<double>(kSamples);
  double weights = 0;
  for (const float w : network.tensors.at("w").data<float>())
    weights += static_cast<double>(w) * static_cast<double>(w);
  const double of_input = 2 / (spread * spread) * weights / static_cast<double>(kOutputs);
  const Curvature w = *of(analysis, "w").curvature, x = *of(analysis, "x").curvature;
  EXPECT_NEAR(w.trace, of_weights, 4 * w.error + 1e-3 * of_weights);
  EXPECT_NEAR(x.trace, of_input, 4 * x.error + 1e-3 * of_input);
  EXPECT_LT(w.error, 0.2 * of_weights);
  EXPECT_NEAR(of(analysis, "y").curvature->trace, 2 / (spread * spread), 5e-3) << "diagonal: no direction errs";
}

/// The diagonal estimate is near the measured cost of rounding when the loss is a sum of squares.
TEST(Analyze, GradientScoreForeseesTheLoss) {
  const data::Dataset data = random_data(false);
  const Analysis analysis =
      analyzed(prepared(one_layer(), data, {.weight_bits = 4, .activation_bits = 4, .first_last_bits = 4}), data);
  for (const char* tensor : {"x", "y"}) {
    const QuantizerAnalysis& one = of(analysis, tensor);
    EXPECT_NEAR(one.curvature->score, one.alone.loss, 0.35 * one.alone.loss) << tensor;
  }
}

TEST(Analyze, NumbersDependOnNoThreads) {
  const data::Dataset data = random_data(true);
  const Model model = prepared(two_layers(), data, {.weight_bits = 2, .activation_bits = 3, .first_last_bits = 4});
  const Analysis one = analyzed(model, data, {}, 1), three = analyzed(model, data, {}, 3);
  ASSERT_EQ(one.quantizers.size(), three.quantizers.size());
  for (size_t i = 0; i < one.quantizers.size(); ++i) {
    const QuantizerAnalysis &a = one.quantizers[i], &b = three.quantizers[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.alone.loss, b.alone.loss);
    EXPECT_EQ(a.seen.alone.noise, b.seen.alone.noise);
    EXPECT_EQ(a.curvature->trace, b.curvature->trace);
    EXPECT_EQ(a.curvature->score, b.curvature->score);
  }
}

/// A scan with a layer, and a branch on its result. Two results of one operation are read behind it.
Model regions() {
  Model network = train::initialize(parse(R"(graph g(x: f32[?, 8]) {
  param @u: f32[8, 4]
  param @w: f32[8, 8]
  param @v: f32[5, 8]
  const @none: f32[]
  h = linear(x, w=@w)
  rows = reshape(x) {dims: [2, -1, 4]}
  s = scan(values=[h, h, rows]) {states: 2, scanned: 1} region body(a: f32[?, 8], b: f32[?, 8], row: f32[?, 4]) {
    wide = linear(row, w=@u)
    sum = add(a=wide, b=a)
    bent = relu(sum)
    return bent, sum
  }
  both = add(a=s, b=s.out1)
  total = reduce_sum(both) {axes: [], keep_dims: false}
  up = greater(a=total, b=@none)
  r = if(cond=up, captured=[both]) region then(p: f32[?, 8]) {
    t = tanh(p)
    return t
  } region else(q: f32[?, 8]) {
    z = sigmoid(q)
    return z
  }
  y = linear(r, w=@v)
  return y
}
)",
                                          "g.ir"),
                                    3);
  network.tensors["none"].data<float>()[0] = 0;
  return network;
}

/// `in_order`: the list of places has everything that rounds in front of a quantizer before that quantizer.
void expect_effects_of_whole_runs(const Model& model, const data::Dataset& data, bool in_order) {
  const FloatNetwork network(model);
  ThreadPool pool(1);
  const Trial trial(network.in_float(), all_of(data), 70, 0, pool);
  size_t steps = 0;
  const auto effects = effects_of(network, trial, [&](size_t done, size_t) { steps = done; });
  ASSERT_EQ(effects.size(), network.places().size());
  EXPECT_EQ(steps, effects.size());
  for (size_t p = 0; p < effects.size(); ++p) {
    const std::string& name = network.places()[p].name();
    SCOPED_TRACE(name);
    const auto is_in_front = [&](const std::string& other) {
      return std::ranges::any_of(std::span(network.places()).first(p + 1),
                                 [&](const Place& place) { return place.name() == other; });
    };
    EXPECT_NEAR(effects[p].alone.loss, trial.of(network.with([&](const auto& n) { return n == name; })).loss, 1e-6);
    EXPECT_NEAR(effects[p].without.loss, trial.of(network.with([&](const auto& n) { return n != name; })).loss, 1e-6);
    EXPECT_GT(effects[p].up_to.loss, 0);
    if (!in_order) continue;
    EXPECT_NEAR(effects[p].up_to.loss, trial.of(network.with(is_in_front)).loss, 1e-6);
  }
}

/// Values that are computed once for many trials lead to the same results as separate trials.
TEST(Analyze, EffectsAreThoseOfWholeRuns) {
  for (const bool labelled : {true, false}) {
    const data::Dataset data = random_data(labelled);
    expect_effects_of_whole_runs(
        prepared(two_layers(), data, {.weight_bits = 2, .activation_bits = 3, .first_last_bits = 4}), data, true);
  }
}

TEST(Analyze, EffectsAreThoseOfWholeRunsAcrossPieces) {
  const data::Dataset data = random_data(false);
  const Model model =
      prepared(many_layers(12), data, {.weight_bits = 4, .activation_bits = 5, .first_last_bits = 6}, "academic");
  EXPECT_GE(Pieces(FloatNetwork(model)).size(), 2U);
  expect_effects_of_whole_runs(model, data, false);
}

/// docs/guides/find_sensitive_layers.md states that compiling grows with the layers.
TEST(Analyze, PiecesAreAsLargeInALargerNetwork) {
  const data::Dataset data = random_data(false);
  const auto sizes = [&](int layers) {
    const FloatNetwork network(prepared(many_layers(layers), data));
    const Pieces pieces(network);
    size_t all = 0, largest = 0;
    for (size_t piece = 0; piece < pieces.size(); ++piece) {
      const size_t ops = pieces.with(piece, [](const std::string&) { return true; }).graph.ops().size();
      all += ops;
      largest = std::max(largest, ops);
    }
    EXPECT_EQ(all, network.with([](const std::string&) { return true; }).graph.ops().size());
    return largest;
  };
  EXPECT_LE(sizes(48), sizes(12) + 4);
}

TEST(Analyze, QuantizersInBranchesAndLoopsAreTriedAlone) {
  const data::Dataset data = random_data(false);
  const Model model = prepared(regions(), data, {.weight_bits = 3, .activation_bits = 4, .first_last_bits = {}});
  expect_effects_of_whole_runs(model, data, false);
  const Analysis analysis = analyzed(model, data);
  EXPECT_EQ(analysis.quantizers.size(), model.graph.all<ops::FakeQuantize>().size());
  const QuantizerAnalysis& sum = of(analysis, "sum");
  EXPECT_EQ(sum.quantizer.path, "scan 's'");
  EXPECT_GT(sum.alone.loss, 0);
  EXPECT_EQ(sum.seen.elements, kSamples * 2 * 8);  // two iterations
  EXPECT_GT(sum.seen.alone.sqnr_db(), 10);
  EXPECT_FALSE(sum.seen.reached);
  EXPECT_FALSE(sum.curvature);
  EXPECT_GT(of(analysis, "t").seen.elements, 0);
  EXPECT_EQ(of(analysis, "t").seen.elements + of(analysis, "z").seen.elements, kSamples * 8);
  EXPECT_TRUE(of(analysis, "y").curvature);
}

/// Wasted bits follow from the ratio of the farthest code to the farthest weight, for the median channel.
TEST(Analyze, WastedBitsAreThoseByHand) {
  const data::Dataset data = random_data(true);
  Model network = two_layers();
  for (float& weight : network.tensors.at("u").data<float>().subspan(8 * 3, 8)) weight *= 50;
  for (const char* platform : {"generic_int8", "pow2_int8"}) {
    SCOPED_TRACE(platform);
    const Analysis analysis = analyzed(prepared(network, data, {}, platform), data);
    const QuantizerAnalysis& weights = of(analysis, "u");
    const auto all = network.tensors.at("u").data<float>();
    std::vector<double> bits;
    for (size_t c = 0; c < 16; ++c) {
      float reach = 0;
      for (const float weight : all.subspan(8 * c, 8)) reach = std::max(reach, std::abs(weight));
      const auto& scales = weights.quantizer.scale;
      const auto farthest = static_cast<float>(std::max(-weights.quantizer.code_min, weights.quantizer.code_max));
      bits.push_back(
          std::max(0.0, std::log2(static_cast<double>(farthest * scales[scales.size() == 1 ? 0 : c] / reach))));
    }
    std::ranges::sort(bits);
    EXPECT_NEAR(*weights.seen.wasted, bits[7], 1e-5);
    EXPECT_EQ(weights.is_badly_scaled, std::string(platform) == "pow2_int8")
        << "of one scale for each channel none is wasted";
    EXPECT_TRUE(of(analysis, "r").is_badly_scaled);
  }
}

/// `without` and `alone` change all quantizers but one, and one alone. With one quantizer in the network both are the
/// same change.
TEST(Analyze, ChangesAddUp) {
  const data::Dataset data = random_data(true);
  const Analysis analysis =
      analyzed(prepared(two_layers(), data, {.weight_bits = 2, .activation_bits = 2, .first_last_bits = 3}), data);
  EXPECT_GT(analysis.rounded.loss, 0);
  EXPECT_TRUE(analysis.in_float.right.has_value());
  for (const QuantizerAnalysis& one : analysis.quantizers) {
    EXPECT_EQ(one.sensitivity, sensitivity_of(one.alone, one.without));
    EXPECT_GE(analysis.quantizers.front().sensitivity, one.sensitivity);
  }
  EXPECT_EQ(sensitivity_of({-1, {}}, {2, {}}), 0);
  EXPECT_EQ(sensitivity_of({3, {}}, {-1, {}}), 2);
}

TEST(Analyze, ARuinedChannelIsFirst) {
  const data::Dataset data = random_data(true);
  Model network = two_layers();
  const auto row = network.tensors.at("u").data<float>().subspan(8 * 3, 8);
  for (float& weight : row) weight *= 50;
  const Analysis analysis =
      analyzed(prepared(network, data, {.weight_bits = 4, .activation_bits = 4, .first_last_bits = 8}), data);
  const QuantizerAnalysis &weights = of(analysis, "u"), &activations = of(analysis, "r");
  ASSERT_FALSE(weights.seen.outliers.empty());
  EXPECT_EQ(weights.seen.outliers.front().channel, 3);
  EXPECT_EQ(analysis.quantizers.front().quantizer.tensor, "r");
  EXPECT_GT(weights.seen.outliers.front().ratio, 20);
  ASSERT_FALSE(activations.seen.outliers.empty());
  EXPECT_EQ(activations.seen.outliers.front().channel, 3);
  EXPECT_NE(activations.suggestions.front().find("channel 3 is "), std::string::npos)
      << activations.suggestions.front();
  EXPECT_NE(activations.suggestions.front().find("--repair equalize"), std::string::npos);
}

TEST(Analyze, ObserversChooseTheirRanges) {
  const data::Dataset data = random_data(true);
  const Analysis analysis = analyzed(prepared(two_layers(), data), data);
  const auto& ranges = of(analysis, "x").ranges;
  const auto range_of = [&](const std::string& observer) {
    return *std::ranges::find(ranges, observer, &ObservedRange::observer);
  };
  const auto [low, high] = std::ranges::minmax(data.x.data<float>());
  EXPECT_NEAR(range_of("minmax").low, low, 0.03);
  EXPECT_NEAR(range_of("minmax").high, high, 0.03);
  EXPECT_LT(range_of("clip_std").high, high);
  EXPECT_TRUE(std::ranges::none_of(ranges, [](const auto& one) { return one.observer.starts_with("lsq"); }));
  EXPECT_TRUE(analyzed(prepared(two_layers(), data), data, {.observers = false}).quantizers[0].ranges.empty());
}

/// A number that multiplies activations, behind a function that keeps it out of the layer: all observers see one value,
/// however often they run.
TEST(Analyze, ConstantsAreWatchedAsTheyAreStored) {
  const data::Dataset data = random_data(true);
  Model network = train::initialize(parse("graph g(x: f32[?, 8]) {\n  param @w: f32[5, 8]\n  const @k: f32[]\n"
                                          "  a = linear(x, w=@w)\n  r = relu(a)\n  y = mul(a=r, b=@k)\n  return y\n}\n",
                                          "g.ir"),
                                    3);
  network.tensors["k"].data<float>()[0] = 1.5F;
  const Analysis analysis = analyzed(prepared(network, data, {}, "onnxruntime_int8"), data);
  const QuantizerAnalysis& k = of(analysis, "k");
  EXPECT_EQ(k.seen.elements, 1);
  EXPECT_EQ(k.seen.high, 1.5F);
  EXPECT_FALSE(k.ranges.empty());
}

/// Platforms with unevenly spaced levels, and with power-of-two scales.
TEST(Analyze, OtherPlatforms) {
  const data::Dataset data = random_data(true);
  for (const char* platform : {"nnie", "pow2_int8", "magik_t40", "vitis", "tensorrt", "academic"}) {
    SCOPED_TRACE(platform);
    const Analysis analysis = analyzed(prepared(two_layers(), data, {}, platform), data);
    EXPECT_FALSE(analysis.quantizers.empty());
    for (const QuantizerAnalysis& one : analysis.quantizers) {
      EXPECT_GT(one.seen.alone.sqnr_db(), 10) << one.quantizer.tensor;
      EXPECT_EQ(one.seen.unused.has_value(), std::string(platform) != "nnie");
    }
  }
}

TEST(Analyze, NamesLayersThatGiveNoNumbers) {
  data::Dataset data = random_data(true);
  const Model model = prepared(two_layers(), data);
  data.x.data<float>()[11] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(test::diagnostic_of([&] { analyzed(model, data); }),
            errors::float_network_not_finite(
                "g", "'x' (1 of 768 elements), 'r' (16 of 1536 elements), 'y' (5 of 480 elements)"));
}

TEST(Analyze, SaysWhatCannotBeComputed) {
  const data::Dataset data = random_data(false);
  const Model model = prepared(two_layers(), data);
  EXPECT_NE(analyzed(model, data).notes.front().find("accuracy cannot be computed"), std::string::npos);
  const Analysis single = analyzed(model, data, {.samples = 1});
  EXPECT_EQ(single.samples, 1);
  EXPECT_NE(single.notes[1].find("1 sample: "), std::string::npos) << single.notes[1];
  data::Dataset constant = random_data(true);
  std::ranges::fill(constant.x.data<float>(), 0.5F);
  EXPECT_EQ(test::diagnostic_of([&] { analyzed(model, constant); }),
            errors::calibration_input_constant("random", "0.5", "x"));
  data::Samples none = all_of(data);
  none.indices.clear();
  ThreadPool pool(1);
  EXPECT_EQ(test::diagnostic_of([&] { analyze(model, none, {}, pool); }),
            errors::trial_samples_too_few("random", 0, 1));
  EXPECT_EQ(test::diagnostic_of([&] { analyze(model, all_of(data), {.samples = -1}, pool); }),
            errors::analysis_samples_negative(-1));
  EXPECT_EQ(test::diagnostic_of([&] { analyzed(two_layers(), data); }), errors::network_not_prepared());
}

}  // namespace
}  // namespace halfstep::sensitivity
