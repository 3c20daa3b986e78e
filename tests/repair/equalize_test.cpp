// Channels rescaled between layers: the float function stays the same to the bit, and channels that were scaled apart
// become similar again.
#include "halfstep/tune/repair/scalable_channels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/repair/judge.h"
#include "halfstep/tune/repair/repair.h"
#include "tests/repair/digits.h"

namespace halfstep::repair {
namespace {

/// Depthwise, residual and joined by pools. A flattened image in front of a product. A sigmoid that keeps no factor.
constexpr const char* kNetworks[] = {
    R"(graph chain(x: f32[?, 3, 8, 8]) {
  param @a: f32[8, 3, 3, 3]
  param @ab: f32[8]
  param @d: f32[8, 1, 3, 3]
  param @db: f32[8]
  param @p: f32[6, 8, 1, 1]
  param @pb: f32[6]
  param @l: f32[5, 96]
  param @lb: f32[5]
  c1 = conv2d(x=x, w=@a, b=@ab) {pad: [1, 1, 1, 1]}
  r1 = relu(x=c1)
  c2 = conv2d(x=r1, w=@d, b=@db) {groups: 8, pad: [1, 1, 1, 1]}
  r2 = leaky_relu(x=c2) {alpha: 0.25}
  c3 = conv2d(x=r2, w=@p, b=@pb)
  m = max_pool2d(x=c3) {kernel: [2, 2], stride: [2, 2]}
  f = flatten(x=m)
  y = linear(x=f, w=@l, b=@lb)
  return y
}
)",
    R"(graph residual(x: f32[?, 3, 8, 8]) {
  param @a: f32[8, 3, 3, 3]
  param @ab: f32[8]
  param @b: f32[8, 4, 3, 3]
  param @bb: f32[8]
  param @c: f32[8, 8, 3, 3]
  param @cb: f32[8]
  param @l: f32[5, 8]
  param @lb: f32[5]
  c1 = conv2d(x=x, w=@a, b=@ab) {pad: [1, 1, 1, 1]}
  r1 = relu(x=c1)
  c2 = conv2d(x=r1, w=@b, b=@bb) {groups: 2, pad: [1, 1, 1, 1]}
  r2 = relu(x=c2)
  c3 = conv2d(x=r2, w=@c, b=@cb) {pad: [1, 1, 1, 1]}
  s = add(a=c3, b=r1)
  r3 = relu(x=s)
  g = global_avg_pool(x=r3)
  f = flatten(x=g)
  y = linear(x=f, w=@l, b=@lb)
  return y
}
)",
    R"(graph pinned(x: f32[?, 3, 8, 8]) {
  param @a: f32[4, 3, 3, 3]
  param @b: f32[4, 4, 3, 3]
  c1 = conv2d(x=x, w=@a)
  s1 = sigmoid(x=c1)
  y = conv2d(x=s1, w=@b)
  return y
}
)"};

Model prepared(const char* text, uint64_t seed) {
  Model model = train::initialize(parse(text, "g.ir"), seed);
  Random random(seed, 1);
  for (auto& [name, tensor] : model.tensors) {  // biases too, and channels of any magnitude
    const auto elements = tensor.data<float>();
    const size_t run = elements.size() / static_cast<size_t>(tensor.dims()[0]);
    for (size_t i = 0; i < elements.size(); ++i) {
      if (tensor.dims().size() == 1) elements[i] = random.normal();
      if (i % run == 0) continue;
      elements[i] *= 1 + static_cast<float>(i / run);
    }
  }
  return quant::prepare(model, quant::load_platform("generic_int8"));
}

Tensors outputs(const Model& model, const Tensor& x) {
  ThreadPool pool(1);
  return train::BatchRunner(train::teacher_of(model, "test"), {}, pool).run({{"x", x}});
}

TEST(Equalize, LeavesTheFloatFunctionToTheBit) {
  Tensor x(DType::f32, {2, 3, 8, 8});
  Random random(7, 0);
  for (float& value : x.data<float>()) value = random.normal();
  for (const char* text : {kNetworks[0], kNetworks[1]}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Model model = prepared(text, seed);
      Model scaled = model;
      for (const ChannelGroup& group : channel_groups(model)) {
        std::vector<float> factors(static_cast<size_t>(group.channels));
        for (float& factor : factors) factor = std::exp2(static_cast<float>(random.below(9)) - 4);
        scale_channels(scaled, group, factors);
      }
      const Tensors before = outputs(model, x), after = outputs(scaled, x);
      EXPECT_FALSE(scaled.tensors.at("a").same_bits(model.tensors.at("a")));
      EXPECT_TRUE(before.at("y").same_bits(after.at("y"))) << text << seed;
    }
  }
}

std::vector<std::string> givers(const ChannelGroup& group) {
  std::vector<std::string> names;
  for (const Giver& giver : group.givers) names.push_back(giver.layer);
  return names;
}

TEST(Equalize, FindsWhatIsJoined) {
  const auto chain = channel_groups(prepared(kNetworks[0], 0));
  ASSERT_EQ(chain.size(), 3U);  // a depthwise layer reads one group and produces the next
  EXPECT_EQ(givers(chain[1]), std::vector<std::string>{"c2"});
  EXPECT_EQ(chain[2].readers[0].run, 16);
  const auto residual = channel_groups(prepared(kNetworks[1], 0));
  ASSERT_EQ(residual.size(), 2U);
  EXPECT_EQ(givers(residual[0]), (std::vector<std::string>{"c1", "c3"}));
  EXPECT_EQ(residual[0].readers.size(), 2U);
  EXPECT_TRUE(channel_groups(prepared(kNetworks[2], 0)).empty());
}

/// Every other channel between conv4 and conv5 is a hundred times as large as its neighbours. The next layer
/// compensates for it.
Model scaled_apart() {
  Model model = clone(network());
  const auto scale = model.tensors.at("bn4.scale").data<float>(), bias = model.tensors.at("bn4.bias").data<float>(),
             weight = model.tensors.at("conv5.w").data<float>();
  for (size_t c = 0; c < scale.size(); c += 2) scale[c] *= 100, bias[c] *= 100;
  for (size_t i = 0; i < weight.size(); ++i) {
    if (i / 9 % scale.size() % 2 == 0) weight[i] /= 100;
  }
  return model;
}

TEST(Equalize, CorrectsChannelsThatWereScaledApart) {
  const Model model = scaled_apart();
  const double in_float = accuracy(model);
  EXPECT_NEAR(in_float, accuracy(network()), 0.003);
  const double broken = accuracy(quantized(model, options(4, 8, {})).model),
               unscaled = accuracy(quantized(network(), options(4, 8, {})).model);
  for (const char* method : {"equalize", "smooth"}) {
    const api::QuantizeResult corrected = quantized(model, options(4, 8, {method, "batchnorm"}));
    EXPECT_LT(broken, in_float - 0.1) << method;
    EXPECT_GT(accuracy(corrected.model), unscaled - 0.01) << method;
  }
}

/// Weights with a scale per channel, and four-bit activations. Other channels must not change, and ranges must be those
/// of the changed network.
TEST(Equalize, CorrectsOneChannelAmongMany) {
  Model model = clone(network());
  const auto scale = model.tensors.at("bn4.scale").data<float>(), bias = model.tensors.at("bn4.bias").data<float>(),
             weight = model.tensors.at("conv5.w").data<float>();
  scale[5] *= 50, bias[5] *= 50;
  for (size_t i = 0; i < weight.size(); ++i) {
    if (i / 9 % scale.size() == 5) weight[i] /= 50;
  }
  const double broken = accuracy(quantized(model, options(4, 4, {})).model),
               whole = accuracy(quantized(network(), options(4, 4, {})).model);
  EXPECT_LT(broken, whole - 0.1);
  EXPECT_GT(accuracy(quantized(model, options(4, 4, {"equalize"})).model), whole - 0.01);
}

/// Two of 64 answers are within chance when the distance falls, twenty are not.
TEST(Judge, FewAnswersDecideNothing) {
  const train::ValidationResult first{0.98, 1.0};
  EXPECT_TRUE(gains(first, first, {0.95, 0.1}, 64));
  EXPECT_FALSE(gains(first, first, {0.67, 0.1}, 64));
  EXPECT_FALSE(gains(first, first, {0.95, 0.1}, 6400));
  EXPECT_FALSE(gains(first, first, {0.99, 1.0}, 64));
  EXPECT_TRUE(gains({1.0, 1.0}, {1.0, 1.0}, {0.99, 0.1}, 100));
}

}  // namespace
}  // namespace halfstep::repair
