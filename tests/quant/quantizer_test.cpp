// A quantizer's tensors and observer, as they follow from its bits, its platform and its range.
#include "halfstep/quant/prepare/quantizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::calibrated;
using test::images;
using test::prepared;
using test::quantizer;

const std::string kThreeLayers = "  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n";

Model three(const std::string& platform = "generic_int8", const test::Overrides& overrides = {}) {
  return prepared(images(kThreeLayers), platform, {}, overrides);
}

float number(const Model& model, const std::string& tensor) { return model.tensors.at(tensor).data<float>()[0]; }

// A2.19
TEST(Quantizer, AFeatureHasOneScaleAndUnsignedCodes) {
  const Model model = three();
  const ops::FakeQuantize q = quantizer(model, "c.q");
  EXPECT_EQ(q.axis(), -1);
  EXPECT_EQ(q.code_min(), 0);
  EXPECT_EQ(q.code_max(), 255);
  EXPECT_EQ(q.code_type(), "u8");
  EXPECT_EQ(bits_of(q), 8);
  EXPECT_EQ(model.tensors.at("c.scale").dims(), Dims{1});
  const ops::ObserveRange observer = observer_of(q);
  EXPECT_EQ(observer.rate(), 0.05);
  EXPECT_EQ(observer.zero_points(), "affine");
  EXPECT_GT(number(model, "c.low"), number(model, "c.high"));
}

// A2.19, A3.7
TEST(Quantizer, AWeightHasAScaleForEachChannelAndSignedCodes) {
  const Model model = three();
  const ops::FakeQuantize q = quantizer(model, "w.q");
  EXPECT_EQ(q.axis(), 0);
  EXPECT_EQ(q.code_min(), -127);
  EXPECT_EQ(q.code_max(), 127);
  EXPECT_EQ(q.code_type(), "i8");
  EXPECT_EQ(model.tensors.at("w.scale").dims(), Dims{4});
  EXPECT_EQ(observer_of(q).rate(), 1.0);
  EXPECT_EQ(observer_of(q).zero_points(), "symmetric");
  const Model whole = three("pow2_int8");
  EXPECT_EQ(quantizer(whole, "w.q").axis(), -1);
  EXPECT_EQ(whole.tensors.at("w.scale").dims(), Dims{1});
}

// A2.21
TEST(Quantizer, BitWidthsDecideCodesTypesAndWhoFindsTheScale) {
  Model model = three("magik_t40");
  const Platform platform = platform_of(model);
  const auto set = [&](const std::string& name, int bits) {
    set_quantizer_bits(model, platform, quantizer(model, name), bits);
    return quantizer(model, name);
  };
  EXPECT_EQ(set("c.q", 12).code_type(), "u16");
  EXPECT_EQ(quantizer(model, "c.q").code_max(), 4095);
  EXPECT_FALSE(is_learned(quantizer(model, "c.q")));
  EXPECT_EQ(observer_of(quantizer(model, "c.q")).method(), "minmax");
  EXPECT_EQ(set("c.q", 4).code_type(), "u8");
  EXPECT_TRUE(is_learned(quantizer(model, "c.q")));
  EXPECT_EQ(observer_of(quantizer(model, "c.q")).method(), "mse");
  EXPECT_EQ(set("v.q", 4).code_type(), "i4");
  EXPECT_EQ(quantizer(model, "v.q").code_min(), -7);
  EXPECT_EQ(bits_of(quantizer(model, "v.q")), 4);
  EXPECT_FALSE(is_learned(set("v.q", 8)));
}

/// 1 / sqrt(elements * largest code), with the elements of one sample of an activation, or of one channel of a weight.
// A2.6
TEST(Quantizer, GradientsOfScalesAreScaledByWhatTheyCount) {
  const Model model = three();
  EXPECT_DOUBLE_EQ(quantizer(model, "x.q").gradient_scale(), 1 / std::sqrt(4.0 * 6 * 6 * 255));
  EXPECT_DOUBLE_EQ(quantizer(model, "w.q").gradient_scale(), 1 / std::sqrt(4.0 * 3 * 3 * 127));
  const Model whole = three("pow2_int8");
  EXPECT_DOUBLE_EQ(quantizer(whole, "w.q").gradient_scale(), 1 / std::sqrt(4.0 * 4 * 3 * 3 * 127));
}

// A3.14
TEST(Quantizer, ScalesFollowTheRangeThatWasSeen) {
  Model model = calibrated(three(), 0, 1);
  EXPECT_EQ(number(model, "c.scale"), static_cast<float>(1.0 / 255));
  set_quantizer_bits(model, platform_of(model), quantizer(model, "c.q"), 4);
  EXPECT_EQ(number(model, "c.scale"), static_cast<float>(1.0 / 15));
  EXPECT_EQ(effective_scale(model, quantizer(model, "c.q")), static_cast<float>(1.0 / 15));
  Model unseen = three();
  set_quantizer_bits(unseen, platform_of(unseen), quantizer(unseen, "c.q"), 4);
  EXPECT_EQ(number(unseen, "c.scale"), 1.0F);
}

/// A learned power of two is rounded between its tensor and the quantizer, and not after it is observed again.
// A2.7
TEST(Quantizer, LearnedPowersOfTwoAreRoundedOnTheWay) {
  Model model = calibrated(three("pow2_int8"), 0, 1);
  const Platform platform = platform_of(model);
  EXPECT_TRUE(model.graph.all<ops::PowerOfTwoScale>().empty());
  for (int again = 0; again < 2; ++again) {
    set_quantizer_bits(model, platform, quantizer(model, "c.q"), 4);
    EXPECT_EQ(model.graph.all<ops::PowerOfTwoScale>().size(), 1U);
    EXPECT_EQ(passes::scale_tensor(quantizer(model, "c.q")).name(), "c.scale");
  }
  model.tensors.at("c.scale").data<float>()[0] = 0.3F;
  EXPECT_EQ(effective_scale(model, quantizer(model, "c.q")), 0.25F);
  set_quantizer_bits(model, platform, quantizer(model, "c.q"), 8);
  EXPECT_TRUE(model.graph.all<ops::PowerOfTwoScale>().empty());
  EXPECT_EQ(effective_scale(model, quantizer(model, "c.q")), 0x1p-7F);
}

TEST(Quantizer, OneWidthServesAllWhoShareTheScale) {
  Model model = prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(x, w=@u)\n  k = concat(x=[c, d])\n  return k\n"));
  set_quantizer_bits(model, platform_of(model), quantizer(model, "c.q"), 5);
  EXPECT_EQ(bits_of(quantizer(model, "d.q")), 5);
  EXPECT_TRUE(is_learned(quantizer(model, "d.q")));
}

TEST(Quantizer, AFixedRangeIsNotObservedAgain) {
  Model model = three();
  fix_range(model, quantizer(model, "c.q"), 0, 5.1F);
  EXPECT_EQ(observer_of(quantizer(model, "c.q")).rate(), 0.0);
  EXPECT_EQ(number(model, "c.scale"), static_cast<float>(double{5.1F} / 255));
  EXPECT_EQ(number(model, "c.high"), 5.1F);
}

TEST(Quantizer, WithoutAnObserverThereIsNoNetworkOfOurs) {
  Model model = three();
  model.graph.erase(model.graph.op("c.observer"));
  EXPECT_EQ(test::diagnostic_of([&] { observer_of(quantizer(model, "c.q")); }),
            errors::quantizer_without_observer("g.ir:5: node 'c.q'"));
}

/// Activation quantizers follow the quantized value. Weight quantizers precede their reader and have its source
/// location.
TEST(Quantizer, StandsWhereItsValueIsMade) {
  const Model model = three();
  std::vector<std::string> order;
  for (const Op op : model.graph.ops()) order.push_back(op.name());
  EXPECT_EQ(order,
            (std::vector<std::string>{"x.q", "x.observer", "w.observer", "w.q", "c", "c.q", "c.observer", "v.observer",
                                      "v.q", "d", "d.q", "d.observer", "u.observer", "u.q", "e", "e.q", "e.observer"}));
  EXPECT_EQ(model.graph.op("d.q").location().line, model.graph.op("d").location().line);
  EXPECT_EQ(model.graph.op("v.q").location().line, model.graph.op("d").location().line);
}

}  // namespace
}  // namespace halfstep::quant
