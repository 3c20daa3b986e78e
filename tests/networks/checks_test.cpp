#include "halfstep/fuzz/checks.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/fuzz/errors.h"
#include "halfstep/fuzz/fleet.h"
#include "halfstep/fuzz/networks/maker.h"
#include "halfstep/fuzz/quality.h"
#include "halfstep/fuzz/shrink.h"
#include "halfstep/train/loop/errors.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::fuzz {
namespace {

constexpr int64_t kBatch = 2, kSamples = 16, kChannels = 4;
constexpr double kStep = 2.0 / 255;

Tensor random_of(const Dims& dims, uint64_t stream, double reach = 1) {
  Random random(1, stream);
  Tensor tensor(DType::f32, dims);
  for (float& x : tensor.data<float>()) x = static_cast<float>(reach * (2 * double{random.uniform()} - 1));
  return tensor;
}

/// `tensor` with an error of `steps` rounding steps.
Tensor with_noise(const Tensor& tensor, uint64_t stream, double steps) {
  const Tensor noise = random_of(tensor.dims(), stream, 0.5 * steps * kStep);
  Tensor result = tensor.clone();
  for (int64_t i = 0; i < result.size(); ++i) set_element(result, i, element(tensor, i) + element(noise, i));
  return result;
}

/// 8-bit outputs. The error of the integer program is `steps` times the error that the bit widths imply.
Answered answers(const Dims& dims, double steps = 1) {
  const Tensor y = random_of(dims, 1);
  Answered answered;
  answered.floats = {{{"y", y}}};
  answered.integer = {{{"y", with_noise(y, 2, steps)}}};
  for (uint64_t draw = 0; draw < 3; ++draw) answered.rounded.push_back({{{"y", with_noise(y, 3 + draw, 1)}}});
  answered.apart = {{{"y", with_noise(y, 6, 1)}}};
  return answered;
}

float& at(std::vector<Tensors>& outputs, int64_t index) {
  return outputs[0].at("y").data<float>()[static_cast<size_t>(index)];
}

const Target kGeneric{.platform = "generic_int8", .overrides = {}, .prepare = {}, .bits = {}};

/// The finding of a check, or "" when it passes.
std::string finding(void (*check)(Trial&), const Network& network, const Target& target = kGeneric,
                    bool warns_of_crushed = false) {
  Tools tools;
  tools.warns_of_crushed = [&](const auto&...) { return warns_of_crushed; };
  Trial trial(network, target, 0, tools);
  try {
    check(trial);
    return "";
  } catch (const Found& found) {
    return found.what;
  } catch (const Skipped& skipped) {
    return "skipped: " + skipped.reason;
  }
}

/// A network that `make` builds.
class Sketch {
 public:
  Sketch()
      : maker_(7, {.opset = 17, .plain = true, .simple = true, .rows = true, .dynamic_batch = true, .batch = kBatch}) {}

  Known input(int64_t size) { return maker_.input(DType::f32, {kBatch, kChannels, size, size}); }
  /// An image with dynamic height and width.
  Known open_input(int64_t size) {
    return maker_.open_input({kBatch, kChannels, size, size}, {2, 3}, {kBatch, kChannels, size + 2, size + 1});
  }
  Known numbers(const Dims& dims, double reach) {
    return maker_.contents(random_of(dims, 100 + stream_++, reach), -reach, reach);
  }
  Known conv(const Known& x, double reach = 1) {
    return node("Conv", {x, numbers({kChannels, kChannels, 1, 1}, reach)}, x.dims);
  }
  Known node(const char* op, const std::vector<Known>& inputs, const Dims& dims, const Attributes& attributes = {}) {
    return maker_.node(op, inputs, inputs[0].with(dims), attributes);
  }
  void expect_codes(const Known& value) { maker_.expect_codes(value); }
  Network finish() { return maker_.finish(kSamples); }

 private:
  Maker maker_;
  uint64_t stream_ = 0;
};

Network convolution() {
  Sketch sketch;
  const Known x = sketch.input(5);
  sketch.node("Relu", {sketch.conv(x)}, x.dims);
  return sketch.finish();
}

/// Two images in one output, one a thousand times as large as the other.
Network large_and_small() {
  Sketch sketch;
  const Known x = sketch.input(5);
  const Known small = sketch.node("Sigmoid", {sketch.conv(x)}, x.dims), large = sketch.conv(x, 1000);
  sketch.node("Concat", {large, small}, {kBatch, 2 * kChannels, 5, 5}, {{"axis", int64_t{1}}});
  return sketch.finish();
}

/// The finding of `check_remedies` when inspect has this objection.
std::string finding_of(const Diagnostic& objection) {
  Tools tools;
  tools.objections_of = [&](const auto&...) { return std::vector<Diagnostic>{objection}; };
  Trial trial(convolution(), kGeneric, 0, tools);
  try {
    check_remedies(trial);
    return "";
  } catch (const Found& found) {
    return found.what;
  }
}

TEST(Remedies, OfObjections) {
  EXPECT_EQ(finding_of({.where = "a", .problem = "red", .remedy = "paint it"}), "");
  EXPECT_EQ(finding_of({.where = "a", .problem = "red"}), "inspect names no remedy: a: red");
}

TEST(Remedies, OfRefusals) {
  const Diagnostic helped = errors::training_diverged("training", "loss", "nan", 3),
                   bare = errors::record_wrong("green");
  EXPECT_TRUE(has_remedy(Error({helped})));
  EXPECT_FALSE(has_remedy(Error({helped, bare})));
}

TEST(Remedies, OfExplainedRefusals) {
  EXPECT_TRUE(is_explained(Error(errors::training_diverged("training", "loss", "nan", 3))));
  EXPECT_TRUE(is_explained(Error(errors::label_out_of_classes(4, 1, 3))));
  EXPECT_FALSE(is_explained(Error(errors::seed_without_network(7))));
}

TEST(Fuzzer, RefusesWhatItCannotUse) {
  const test::TemporaryFolder folder;
  io::write_file(folder / "broken.onnx", "no model");
  EXPECT_EQ(test::diagnostic_of([&] { load_network(folder / "broken"); }),
            errors::saved_network_malformed((folder / "broken.onnx").string()));
}

TEST(Fuzzer, WorkersNeedASocket) {
  Fleet fleet({});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string_view name = test::name_of([&] { fleet.one({}); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(name, "worker_not_started");
}

TEST(Quality, OfAnswersThatAreFartherThanBitWidthsAllow) {
  EXPECT_LT(worst_quality(answers({kSamples, kChannels, 4})).excess(), 3);
  const Quality worse = worst_quality(answers({kSamples, kChannels, 4}, 8));
  EXPECT_GT(worse.excess(), 14);
  EXPECT_LT(worse.excess(), 22);
  EXPECT_EQ(worse.what, "output 'y'");
}

TEST(Quality, OfAnIntegerProgramThatIsMadeWorse) {
  EXPECT_EQ(finding(check_quality, convolution()), "");
  Target narrow = kGeneric;
  narrow.overrides = {{"activations.observer", "quantile"}, {"observers.share", "0.6"}};
  const std::string found = finding(check_quality, convolution(), narrow);
  EXPECT_NE(found.find("dB to the float network, its bit widths allow"), std::string::npos) << found;
}

TEST(Answers, OfAnotherSample) {
  Answered answered = answers({kSamples, kChannels});
  EXPECT_EQ(moved_answers(answered), "");
  for (int64_t i = 0; i < kChannels; ++i) std::swap(at(answered.integer, i), at(answered.integer, 5 * kChannels + i));
  EXPECT_EQ(moved_answers(answered), "output 'y': 2 of 16 samples have another sample's answer, sample 0 that of 5");
}

TEST(Answers, WithAnotherLargestElement) {
  Answered answered = answers({kSamples, kChannels});
  at(answered.floats, 0) = 1;
  for (std::vector<Tensors>& draw : answered.rounded) at(draw, 0) = 1;
  at(answered.integer, 0) = -1;
  EXPECT_EQ(moved_answers(answered), "output 'y': another element is the largest in 1 of 16 samples");
}

TEST(Answers, OfASoundProgram) { EXPECT_EQ(finding(check_answers, convolution()), ""); }

TEST(Parts, WithNothingLeftOfAChannel) {
  Answered answered = answers({kSamples, kChannels, 4});
  EXPECT_FALSE(crushed_part(answered));
  const auto channel = [](std::vector<Tensors>& outputs) {
    for (int64_t i = 0; i < outputs[0].at("y").size(); ++i) {
      if (i / 4 % kChannels == 2) at(outputs, i) = 0;
    }
  };
  channel(answered.integer);
  const auto part = crushed_part(answered);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->what, "channel 2 of output 'y'");
  EXPECT_NEAR(part->sqnr, 0, 1e-6);
  EXPECT_GT(part->expected, 20);
  channel(answered.apart);
  EXPECT_FALSE(crushed_part(answered)) << "steps of its own would not do either";
}

TEST(Parts, ThatNobodyWarnsOf) {
  const std::string found = finding(check_parts, large_and_small());
  EXPECT_NE(found.find("and no warning"), std::string::npos) << found;
  EXPECT_EQ(finding(check_parts, large_and_small(), kGeneric, true), "");
  EXPECT_EQ(finding(check_parts, convolution()), "");
}

TEST(Integers, OfTailsThatStayInFloat) {
  const auto network = [](const char* op) {
    Sketch sketch;
    const Known x = sketch.input(5), y = sketch.conv(x);
    sketch.expect_codes(sketch.node(op, {y}, x.dims));
    return sketch.finish();
  };
  EXPECT_EQ(finding(check_integers, network("Relu")), "");
  const std::string found = finding(check_integers, network("Hardmax"));
  EXPECT_NE(found.find("stays in float"), std::string::npos) << found;
}

TEST(Extents, ThatANetworkDoesNotTake) {
  const auto network = [](int64_t size) {
    Sketch sketch;
    const Known x = sketch.open_input(5);
    const Known y = sketch.conv(x);
    sketch.node("Add", {y, sketch.numbers({1, 1, size, size}, 1)}, x.dims);
    return sketch.finish();
  };
  EXPECT_EQ(finding(check_extents, network(1)), "");
  const std::string found = finding(check_extents, network(5));
  EXPECT_NE(found.find("only the extents of the samples"), std::string::npos) << found;
  EXPECT_EQ(finding(check_extents, convolution()), "skipped: no dynamic dimension but the batch");
}

/// Infinities hide nothing where a layer reads them.
TEST(Semantics, OfInfinitiesInFrontOfALayer) {
  Sketch sketch;
  const Known x = sketch.input(6);
  const Known squashed = sketch.node("Tanh", {sketch.conv(x, 8)}, x.dims);
  const Known infinite = sketch.node("Atanh", {squashed}, x.dims);
  sketch.node("AveragePool", {infinite}, {kBatch, kChannels, 6, 5}, {{"kernel_shape", Dims{1, 2}}});
  Target target = kGeneric;
  target.platform = "pplcuda";
  EXPECT_EQ(finding(check_semantics, sketch.finish(), target), "");
}

TEST(Semantics, OfAClipWithoutLimitsInFrontOfALoneNorm) {
  Sketch sketch;
  const Known x = sketch.input(5), clipped = sketch.node("Clip", {x}, x.dims);
  const auto numbers = [&](double low) { return sketch.numbers({kChannels}, 1).between(low, 1); };
  const Known variance = sketch.node("Exp", {numbers(-1)}, {kChannels});
  sketch.node("BatchNormalization", {clipped, numbers(-1), numbers(-1), numbers(-1), variance}, x.dims);
  EXPECT_EQ(finding(check_semantics, sketch.finish()), "");
}

TEST(Splits, OfAValueThatDependsOnTheBatch) {
  const auto network = [](bool mixes) {
    Sketch sketch;
    const Known x = sketch.input(5), y = sketch.conv(x);
    Known mean = mixes ? sketch.node("ReduceMean", {y}, {1, kChannels, 5, 5}, {{"axes", Dims{0}}})
                       : sketch.node("ReduceMean", {y}, {kBatch, 1, 5, 5}, {{"axes", Dims{1}}});
    mean.constant = mixes;  // hides the mixing: the maker only permits nodes that keep rows apart
    sketch.node("Sub", {y, mean}, x.dims);
    return sketch.finish();
  };
  EXPECT_EQ(finding(check_splits, network(false)), "");
  const std::string found = finding(check_splits, network(true));
  EXPECT_NE(found.find("differs with a file's batch of"), std::string::npos) << found;
}

}  // namespace
}  // namespace halfstep::fuzz
