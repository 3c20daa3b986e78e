// All kinds of quantizers, from a float network to verified integers, or to the reason why that is impossible.
#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/halfstep.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "tests/support/error.h"
#include "tests/support/files.h"
#include "tests/support/mentions.h"

namespace halfstep::api {
namespace {

const Dataset& digits() {
  static const Dataset kDigits = data::digits();
  return kDigits;
}

const Model& network() {
  static const Model kNetwork =
      train(create_network("digits", digits(), 0), digits(), {.epochs = 3, .keep_best = false}, {}).model;
  return kNetwork;
}

using Overrides = std::vector<std::pair<std::string, std::string>>;

struct Kind {
  QuantizerKind kind;
  bool of_weights;
  const char* platform;
  Overrides overrides;

  std::string name() const { return traits_of(kind).name; }
  Model quantized() const {
    Overrides all = overrides;
    all.emplace_back(of_weights ? "weights.quantizer" : "activations.quantizer", name());
    return quantize(network(), quant::load_platform(platform, all), digits(),
                    {.prepare = {.weight_bits = 4, .activation_bits = 4, .first_last_bits = {}}}, {})
        .model;
  }
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.name() << (kind.of_weights ? " of weights" : " of activations");
}

const Kind kWithIntegers[] = {
    {QuantizerKind::lsq_plus, false, "generic_int8", {}},
    {QuantizerKind::pact, false, "generic_int8", {}},
    {QuantizerKind::pact, false, "signed_pow2_int8", {{"activations.legal_bits", "[4, 8]"}}},
    {QuantizerKind::dorefa, true, "generic_int8", {}},
    {QuantizerKind::dsq, true, "generic_int8", {}},
    {QuantizerKind::dsq, false, "magik_t40", {{"quantizers.softness", "0.2"}}},
    {QuantizerKind::tqt, true, "pow2_int8", {}},
    {QuantizerKind::tqt, false, "pow2_int8", {}},
    {QuantizerKind::adaround, true, "generic_int8", {}},
    {QuantizerKind::qdrop, false, "generic_int8", {{"quantizers.keep", "0.75"}}},
};
const Kind kWithout[] = {
    {QuantizerKind::nnie, true, "nnie", {{"activations.quantizer", "nnie"}}},
    {QuantizerKind::apot, true, "generic_int8", {}},
    {QuantizerKind::apot, false, "generic_int8", {}},
};

/// Number of learned quantizer tensors that have other bits in `after`.
int moved(const Model& before, const Model& after) {
  int count = 0;
  for (const LearnedQuantizer& one : before.metadata.learned_quantizers) {
    for (const std::string& name : {one.offset, one.low, one.high, one.log2_scale, one.choice, one.scale, one.weight}) {
      if (!name.empty() && !before.tensors.at(name).same_bits(after.tensors.at(name))) ++count;
    }
  }
  return count;
}

class LearnedQuantizers : public testing::TestWithParam<Kind> {};

// A2.22
TEST_P(LearnedQuantizers, TrainAndBecomeIntegers) {
  const Model prepared = GetParam().quantized();
  ASSERT_FALSE(prepared.metadata.learned_quantizers.empty());
  for (const auto& one : audit(prepared).audit.quantizers) {
    if (one.is_weight == GetParam().of_weights) {
      EXPECT_EQ(one.quantizer, GetParam().name()) << one.tensor;
    }
  }
  const TrainOptions options{.epochs = 1, .learning_rate = 0.01, .keep_best = false};
  const Model trained = train(prepared, digits(), options, {.threads = 1, .seed = 0, .progress = {}}).model;
  EXPECT_EQ(digest_hex(trained),
            digest_hex(train(prepared, digits(), options, {.threads = 2, .seed = 0, .progress = {}}).model));
  EXPECT_GT(moved(prepared, trained), 0);

  const auto integer = convert(trained);
  const auto proof = verify(trained, integer.model, digits(), {}, {});
  EXPECT_TRUE(proof.equal()) << report::verdict(proof);
  EXPECT_FALSE(verify(trained, integer.model, digits(), {.inject = "conv2:0"}, {}).equal());
  const double accuracy = evaluate(trained, digits(), {}, {}).accuracy;
  EXPECT_EQ(accuracy, evaluate(integer.model, digits(), {}, {}).accuracy);
  EXPECT_GT(accuracy, 0.9);
}

/// Bit widths can change afterwards. Learned values follow.
TEST_P(LearnedQuantizers, TakeOtherBitWidths) {
  const Model wide = change_bits(GetParam().quantized(), {{.selector = "conv4", .weights = 8, .activations = 8}}).model;
  const auto integer = convert(wide);
  const auto proof = verify(wide, integer.model, digits(), {}, {});
  EXPECT_TRUE(proof.equal()) << report::verdict(proof);
}

class UnevenLevels : public testing::TestWithParam<Kind> {};

// A2.22
TEST_P(UnevenLevels, TrainAndSayWhyTheyHaveNoIntegers) {
  const Model prepared = GetParam().quantized();
  const Model trained = train(prepared, digits(), {.epochs = 1, .keep_best = false}, {}).model;
  EXPECT_GT(evaluate(trained, digits(), {}, {}).accuracy, 0.9);
  const auto converted = [&] { convert(trained, {.float_fallback = true}); };
  EXPECT_EQ(test::kind_of(converted), ErrorKind::unsupported);
  const auto refusals = test::diagnostics_of(converted);
  EXPECT_TRUE(test::mentions(refusals, traits_of(GetParam().kind).no_integers));
  EXPECT_TRUE(test::mentions(refusals, GetParam().of_weights ? "conv2.w" : "relu2.q"));
}

/// A file stores the learned values, and a loaded Model converts to the same integers.
TEST_P(LearnedQuantizers, AreInTheFile) {
  const Model prepared = GetParam().quantized();
  const test::TemporaryFolder folder;
  save(prepared, folder.path() / "prepared.safetensors");
  Model closed = prepared;
  const Model loaded = load(folder.path() / "prepared.safetensors");
  EXPECT_EQ(digest_hex(prepared), digest_hex(loaded));
  passes::close_learned_parts(closed);
  EXPECT_TRUE(closed.metadata.learned_quantizers.empty());
  EXPECT_EQ(digest_hex(convert(closed).model), digest_hex(convert(loaded).model));
}

std::string name_of(const testing::TestParamInfo<Kind>& info) {
  return info.param.name() + (info.param.of_weights ? "_weights_" : "_activations_") + info.param.platform;
}
INSTANTIATE_TEST_SUITE_P(Kinds, LearnedQuantizers, testing::ValuesIn(kWithIntegers), name_of);
INSTANTIATE_TEST_SUITE_P(Kinds, UnevenLevels, testing::ValuesIn(kWithout), name_of);

}  // namespace
}  // namespace halfstep::api
