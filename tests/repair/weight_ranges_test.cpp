// Weight ranges chosen by the output error of rounding, compared with an exhaustive search.
#include "halfstep/tune/repair/weight_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/repair/layers.h"
#include "tests/repair/digits.h"

namespace halfstep::repair {
namespace {

/// A layer of two groups whose inputs have means far from zero, as behind a relu.
struct Grouped {
  static constexpr size_t kSamples = 64, kInputs = 64, kOutputs = 8, kEach = 32;
  data::Dataset data;
  Model model;
  std::pair<double, double> codes;
  ThreadPool pool{2};

  explicit Grouped(const char* platform, const std::vector<std::pair<std::string, std::string>>& changes = {}) {
    Random random(5, 0);
    data.name = "folded normal";
    data.raw = false;
    data.x = Tensor(DType::f32, {kSamples, kInputs, 1, 1});
    for (float& value : data.x.data<float>()) value = std::fabs(random.normal()) + 0.5F;
    Model network =
        train::initialize(parse("graph g(x: f32[?, 64, 1, 1]) {\n  param @w: f32[8, 32, 1, 1]\n  param @b: f32[8]\n"
                                "  y = conv2d(x, w=@w, b=@b) {groups: 2}\n  return y\n}\n",
                                "g.ir"),
                          3);
    for (float& one : network.tensors.at("w").data<float>()) one = random.normal();
    model = quant::prepare(network, quant::load_platform(platform, changes));
    quant::set_bits(model, "y", 4, std::nullopt);
    train::calibrate(model, samples(), {}, pool);
    const auto quantizer = layers_of(model)[0].quantizer;
    codes = {quantizer.code_min(), quantizer.code_max()};
  }

  data::Samples samples() const { return all_of(data); }

  /// Squared error of all outputs of a channel, with weights rounded to the nearest code.
  double squared_error(size_t channel, float scale) const {
    const auto weight = model.tensors.at("w").data<float>().subspan(channel * kEach, kEach);
    double sum = 0;
    for (size_t n = 0; n < kSamples; ++n) {
      const auto inputs = data.x.data<float>().subspan(n * kInputs + channel / (kOutputs / 2) * kEach, kEach);
      double error = 0;
      for (size_t i = 0; i < kEach; ++i) {
        const double rounded = std::clamp(std::nearbyint(double{weight[i]} / scale), codes.first, codes.second) * scale;
        error += double{inputs[i]} * (rounded - weight[i]);
      }
      sum += error * error;
    }
    return sum;
  }

  /// Least squared error of the channels from `begin` to `end` with one scale, over scales that are a share of their
  /// extremes.
  double least_squared_error(size_t begin, size_t end, bool powers) const {
    const auto weight = model.tensors.at("w").data<float>().subspan(begin * kEach, (end - begin) * kEach);
    const auto [low, high] = std::ranges::minmax(weight);
    double least = std::numeric_limits<double>::infinity();
    for (int percent = 28; percent <= 100; percent += 8) {
      double scale = std::max(low / codes.first, high / codes.second) * percent / 100;
      if (powers) scale = std::exp2(std::ceil(std::log2(scale)));
      double sum = 0;
      for (size_t channel = begin; channel < end; ++channel) sum += squared_error(channel, static_cast<float>(scale));
      least = std::min(least, sum);
    }
    return least;
  }

  double squared_error(const Model& of) const {
    const auto quantizer = layers_of(of)[0].quantizer;
    double sum = 0;
    for (size_t channel = 0; channel < kOutputs; ++channel)
      sum += squared_error(channel, quant::effective_scale(of, quantizer, quantizer.axis() == 0 ? channel : 0));
    return sum;
  }
};

/// float32 sums in a network and float64 sums here may prefer different ranges when two are nearly equal.
constexpr double kAbout = 1.0001;

TEST(WeightRanges, NoShareOfTheExtremesIsBetter) {
  Grouped one("generic_int8");
  const Model found = *ranges_by_outputs(one.model, one.samples(), one.pool);
  const auto quantizer = layers_of(found)[0].quantizer;
  for (size_t channel = 0; channel < Grouped::kOutputs; ++channel) {
    EXPECT_LE(one.squared_error(channel, quant::effective_scale(found, quantizer, channel)),
              one.least_squared_error(channel, channel + 1, false) * kAbout)
        << channel;
  }
  EXPECT_LT(one.squared_error(found), 0.7 * one.squared_error(one.model));  // one.model has the ranges of the smallest
                                                                            // weight error
}

TEST(WeightRanges, OfOneScaleForAll) {
  Grouped one("generic_int8", {{"weights.granularity", "tensor"}});
  const Model found = *ranges_by_outputs(one.model, one.samples(), one.pool);
  EXPECT_LE(one.squared_error(found), one.least_squared_error(0, Grouped::kOutputs, false) * kAbout);
  EXPECT_LT(one.squared_error(found), one.squared_error(one.model));
}

TEST(WeightRanges, OfPowersOfTwo) {
  Grouped one("pow2_int8");
  const Model found = *ranges_by_outputs(one.model, one.samples(), one.pool);
  EXPECT_LE(one.squared_error(found), one.least_squared_error(0, Grouped::kOutputs, true) * kAbout);
  const float scale = quant::effective_scale(found, layers_of(found)[0].quantizer);
  EXPECT_EQ(scale, std::exp2(std::nearbyint(std::log2(scale))));
}

TEST(WeightRanges, StayWhereWeightsAreRecomputedOrLevelsAreUneven) {
  for (const char* kind : {"dorefa", "apot"}) {
    Grouped one("generic_int8", {{"weights.quantizer", kind}});
    EXPECT_FALSE(ranges_by_outputs(one.model, one.samples(), one.pool)) << kind;
  }
}

}  // namespace
}  // namespace halfstep::repair
