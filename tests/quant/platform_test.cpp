// Records of platforms: what they name must exist and be possible, and every mistake has its line.
#include "halfstep/quant/platform/platform.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/core/base/embedded.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::quant {
namespace {

using test::error_of;
using test::TemporaryFolder;

std::string record(const std::string& name) {
  const auto bytes = embedded("platforms/" + name + ".yaml");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The error of generic_int8 with a part of its text replaced.
std::string error_with(const std::string& from, const std::string& to) {
  return error_of([&] { parse_platform(replaced(record("generic_int8"), from, to), "p.yaml"); });
}

std::string error_of_override(const std::string& platform, const std::string& key, const std::string& value) {
  return error_of([&] { load_platform(platform, {{key, value}}); });
}

TEST(Platform, OperatorsInFloatAreSomeThatCouldHaveCodes) {
  EXPECT_EQ(load_platform("generic_int8", {{"in_float", "[softmax, gelu]"}}).in_float.size(), 2U);
  EXPECT_NE(error_of_override("generic_int8", "in_float", "[lstm]").find("in_float: found 'lstm', expected"),
            std::string::npos);
}

TEST(Platform, BuiltInRecordsAreRead) {
  for (const std::string& name : platform_names()) EXPECT_EQ(load_platform(name).name, name);
}

TEST(Platform, KeysGivenTwiceNameBothLines) {
  EXPECT_EQ(error_with("edges: {bits: 8}", "edges: {bits: 8}\nedges: {bits: 4}"),
            "p.yaml:18: edges: the key is given twice, before in line 17");
  EXPECT_EQ(error_with("  rate: 0.05", "  rate: 0.05\n  bits: 4"),
            "p.yaml:16: features.bits: the key is given twice, before in line 10");
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {op: add, reason: a, features: [8],\n     reason: b}"),
            "p.yaml:26: legal[0].reason: the key is given twice, before in line 25");
  EXPECT_EQ(error_of_override("generic_int8", "edges", "{bits: 8, bits: 4}"),
            "platforms/generic_int8.yaml:1: edges.bits: the key is given twice, before in line 1");
}

TEST(Platform, WhatIsNoYamlIsSaidInOurWords) {
  EXPECT_EQ(error_with("share_scales: [concat]", "share_scales: [concat"),
            "p.yaml:22: column 12: found what is no YAML, expected keys, values and brackets that end");
  EXPECT_EQ(error_with("edges: {bits: 8}", "[a, b]: 8"), "p.yaml:17: record: found a key that is no text");
  EXPECT_EQ(error_with("edges: {bits: 8}", "edges: 8"), "p.yaml:17: edges: found no mapping, expected keys and values");
  EXPECT_EQ(error_with("edges: {bits: 8}", "edges: {bits: [8]}"),
            "p.yaml:17: edges.bits: found a list, expected a whole number");
  EXPECT_EQ(error_with("share_scales: [concat]", "share_scales:"),
            "p.yaml:22: share_scales: found nothing, expected a list of names");
}

TEST(Platform, ActivationsAreThoseThatOperatorsTakeIn) {
  const std::string file = "platforms/generic_int8.yaml:1: ";
  const std::string form =
      "expected activations that such operators take in with the fixed_point form of requantization: ";
  EXPECT_EQ(error_of_override("generic_int8", "activations.accumulates", "[leaky_relu, relu, relu6]"),
            file + "activations.accumulates: found 'leaky_relu', " + form + "relu, relu6");
  EXPECT_EQ(error_of_override("generic_int8", "activations.accumulates", "[rellu]"),
            file + "activations.accumulates: found 'rellu', " + form + "relu, relu6, did you mean 'relu'?");
  EXPECT_EQ(error_of_override("generic_int8", "activations.weighted", "[sigmoid]"),
            file + "activations.weighted: found 'sigmoid', " + form + "leaky_relu, relu, relu6");
}

TEST(Platform, FormsThatKeepScalesHaveNoLeakyRelu) {
  for (const auto& [platform, form] : std::map<std::string, std::string>{
           {"onnxruntime_int8", "float32"}, {"pytorch_fbgemm", "fbgemm"}, {"pytorch_x86", "x86"}}) {
    EXPECT_EQ(error_of_override(platform, "activations.weighted", "[leaky_relu]"),
              "platforms/" + platform +
                  ".yaml:1: activations.weighted: found 'leaky_relu', expected activations that such operators take in "
                  "with the " +
                  form + " form of requantization: relu, relu6");
  }
  EXPECT_EQ(load_platform("pow2_int8", {{"activations.weighted", "[leaky_relu]"}}).weighted_activations.size(), 1U);
}

TEST(Platform, ScalesAreSharedAndKeptWhereThatIsPossible) {
  const std::string file = "platforms/generic_int8.yaml:1: ";
  EXPECT_EQ(error_of_override("generic_int8", "share_scales", "[concatt]"),
            file +
                "share_scales: found 'concatt', expected operators that several values of codes go into, did you mean "
                "'concat'?");
  for (const std::string op : {"softmax", "relu", "conv2d", "flatten"}) {
    EXPECT_EQ(error_of_override("generic_int8", "share_scales", "[" + op + "]"),
              file + "share_scales: found '" + op + "', expected operators that several values of codes go into");
  }
  EXPECT_EQ(load_platform("generic_int8", {{"share_scales", "[concat, add, mul]"}}).share_scales.size(), 3U);

  const std::string fbgemm = "platforms/pytorch_fbgemm.yaml:1: ";
  const std::string expected = ", expected operators on codes whose result has a scale of its own";
  const std::map<std::string, std::string> refused = {{"log_softmax", ""},
                                                      {"relu", ", did you mean 'celu'?"},
                                                      {"concat", ""},
                                                      {"max_pool2d", ", did you mean 'avg_pool2d'?"}};
  for (const auto& [op, hint] : refused)
    EXPECT_EQ(error_of_override("pytorch_fbgemm", "keep_scales", "[" + op + "]"),
              fbgemm + "keep_scales: found '" + op + "'" + expected + hint);
  EXPECT_EQ(load_platform("pytorch_fbgemm", {{"keep_scales", "[add, conv2d, sigmoid]"}}).keep_scales.size(), 3U);
}

/// One reading says everything, in the order of lines, and nothing that only follows from another mistake.
TEST(Platform, SaysAllMistakesAtOnce) {
  std::string text = record("generic_int8");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"granularity: channel", "granularty: channel"},
           {"zero_points: affine", "zero_points: symmetric"},
           {"below: 8", "below: many"},
           {"edges: {bits: 8}", "edges: {bits: 8}\nedges: {bits: 4}"},
           {"form: fixed_point, multiplier_bits: 31", "form: float32, multiplier_bits: 15"},
           {"share_scales: [concat]", "share_scales: [conv2d, concat, concat]"},
           {"weighted: [relu, relu6, leaky_relu]", "weighted: [hard_swish]"},
           {"legal: []", "legal: [{op: add, weights: [8], reason: why}]"}})
    text = replaced(text, from, to);
  std::vector<std::string> said;
  try {
    parse_platform(text, "p");
  } catch (const Refusal& refusal) {
    for (const Objection& one : refusal.objections()) said.push_back(one.where + ": " + one.reason());
    EXPECT_EQ(refusal.kind(), ErrorKind::bad_input);
  }
  EXPECT_EQ(
      said,
      (std::vector<std::string>{
          "p:7: weights.granularty: unknown key, did you mean 'granularity'?",
          "p:13: features.zero_points: symmetric needs signed codes; a negative value has no unsigned one",
          "p:16: low_bits.below: found 'many', expected a whole number",
          "p:18: edges: the key is given twice, before in line 17",
          "p:20: requantize.multiplier_bits: float32 has no such multiplier: found 15, expected 31, which then says "
          "nothing",
          "p:22: share_scales: found concat twice",
          "p:22: share_scales: found 'conv2d', expected operators that several values of codes go into",
          "p:23: activations.weighted: found 'hard_swish', expected activations that such operators take in with the "
          "float32 form of requantization: relu, relu6",
          "p:25: legal[0].weights: found operators without weights, expected features alone"}));
}

/// What is wrong with a form is no reason to object to what depends on it.
TEST(Platform, SaysNothingThatFollowsFromAnotherMistake) {
  EXPECT_EQ(error_with("form: fixed_point, multiplier_bits: 31, rounding: half_up",
                       "form: powers, multiplier_bits: 15, rounding: doubled"),
            "p.yaml:19: requantize.form: found 'powers', expected fixed_point, power_of_two, float32, fbgemm, x86");
  EXPECT_EQ(error_with("codes: unsigned\n  zero_points: affine", "codes: sgned\n  zero_points: symmetric"),
            "p.yaml:12: features.codes: found 'sgned', expected unsigned, signed, did you mean 'signed'?");
  EXPECT_EQ(error_with("legal: []", "legal: [{op: add, featurs: [8], reason: why}]"),
            "p.yaml:24: legal[0].featurs: unknown key, did you mean 'features'?");
  EXPECT_EQ(error_with("legal_bits: [2, 3, 4, 5, 6, 7, 8]\n  granularity", "legal_bits: [2, 9]\n  granularity"),
            "p.yaml:6: weights.legal_bits: found 9, expected 2 to 8");
}

/// A record may leave out what has a default; an override may give it.
TEST(Platform, OptionalKeysCanBeOverridden) {
  const Platform platform =
      load_platform("magik_t40", {{"requantize.rounding", "half_even"}, {"keep_scales", "[avg_pool2d]"}});
  EXPECT_EQ(platform.shift_rounding, "half_even");
  EXPECT_EQ(platform.keep_scales, std::vector<std::string>{"avg_pool2d"});
}

TEST(Platform, ALegalRuleIsForAnOperatorOrAKind) {
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {features: [8], reason: why}"),
            "p.yaml:25: legal[0]: found neither op nor trait, expected one");
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {op: add, trait: accumulates, features: [8], reason: why}"),
            "p.yaml:25: legal[0]: found both op and trait, expected one");
}

struct Mistake {
  const char *what, *from, *to, *message;
};

class PlatformMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(PlatformMistakes, AreNamedWithLineAndKey) {
  EXPECT_EQ(error_with(GetParam().from, GetParam().to), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Values, PlatformMistakes,
    testing::Values(
        Mistake{"a_width_below_two", "legal_bits: [2, 3", "legal_bits: [1, 3",
                "p.yaml:6: weights.legal_bits: found 1, expected 2 to 8"},
        Mistake{"a_width_above_sixteen", "legal_bits: [2, 3", "legal_bits: [17, 3",
                "p.yaml:6: weights.legal_bits: found 17, expected 2 to 8"},
        Mistake{"wide_weights", "legal_bits: [2, 3", "legal_bits: [9, 3",
                "p.yaml:6: weights.legal_bits: found 9, expected 2 to 8"},
        Mistake{"a_default_that_is_not_legal", "legal_bits: [2, 3, 4, 5, 6, 7, 8]", "legal_bits: [2, 3]",
                "p.yaml:5: weights.bits: found 8, expected one of legal_bits: 2, 3"},
        Mistake{"no_legal_width", "legal_bits: [2, 3, 4, 5, 6, 7, 8]", "legal_bits: []",
                "p.yaml:6: weights.legal_bits: found no width, expected at least one"},
        Mistake{"widths_that_are_no_list", "legal_bits: [2, 3, 4, 5, 6, 7, 8]", "legal_bits: 8",
                "p.yaml:6: weights.legal_bits: found '8', expected a list of whole numbers"},
        Mistake{"widths_that_are_no_numbers", "legal_bits: [2, 3", "legal_bits: [two, 3",
                "p.yaml:6: weights.legal_bits: found 'two', expected a list of whole numbers"},
        Mistake{"a_granularity", "granularity: channel", "granularity: chanel",
                "p.yaml:7: weights.granularity: found 'chanel', expected channel, tensor, did you mean 'channel'?"},
        Mistake{"a_misspelled_key", "granularity:", "granularty:",
                "p.yaml:7: weights.granularty: unknown key, did you mean 'granularity'?"},
        Mistake{"an_unknown_key", "granularity: channel", "granularity: channel\n  colour: red",
                "p.yaml:8: weights.colour: unknown key"},
        Mistake{"an_unknown_key_of_the_record", "power_of_two: false", "power_of_two: false\npower_of_tow: 1",
                "p.yaml:19: power_of_tow: unknown key, did you mean 'power_of_two'?"},
        Mistake{"an_observer", "observer: minmax", "observer: minmix",
                "p.yaml:8: weights.observer: found 'minmix', expected minmax, ema_minmax, mse, ema_mse, quantile, "
                "ema_quantile, clip_std, widen_std, lsq, lsq_plus, power_floor, power_mode, percentile, kl, histogram, "
                "did you mean 'minmax'?"},
        Mistake{"zero_points", "zero_points: affine", "zero_points: symmetric",
                "p.yaml:13: features.zero_points: symmetric needs signed codes; a negative value has no unsigned one"},
        Mistake{"a_rate_of_zero", "rate: 0.05", "rate: 0", "p.yaml:15: features.rate: found 0, expected 1e-06 to 1"},
        Mistake{"a_rate_that_is_no_number", "rate: 0.05", "rate: .nan",
                "p.yaml:15: features.rate: found nan, expected 1e-06 to 1"},
        Mistake{"a_rate_in_words", "rate: 0.05", "rate: slow",
                "p.yaml:15: features.rate: found 'slow', expected a number"},
        Mistake{"low_bits_below", "below: 8", "below: 18", "p.yaml:16: low_bits.below: found 18, expected 0 to 17"},
        Mistake{"low_bits_that_may_be_learned", "learned: true", "learned: maybe",
                "p.yaml:16: low_bits.learned: found 'maybe', expected true or false"},
        Mistake{"low_bits_with_more", "learned: true", "learned: true, rate: 1",
                "p.yaml:16: low_bits.rate: unknown key"},
        Mistake{"wide_edges", "edges: {bits: 8}", "edges: {bits: 9}",
                "p.yaml:17: edges.bits: found 9, expected 2 to 8"},
        Mistake{"a_form_of_requantization", "form: fixed_point", "form: fixed",
                "p.yaml:19: requantize.form: found 'fixed', expected fixed_point, power_of_two, float32, fbgemm, x86"},
        Mistake{"a_form_that_needs_other_scales", "form: fixed_point", "form: power_of_two",
                "p.yaml:19: requantize.form: power_of_two needs power_of_two scales"},
        Mistake{"a_form_without_leaky_relu", "form: fixed_point", "form: float32",
                "p.yaml:22: activations.weighted: found 'leaky_relu', expected activations that such operators take in "
                "with the float32 form of requantization: relu, relu6"},
        Mistake{"a_short_multiplier", "multiplier_bits: 31", "multiplier_bits: 14",
                "p.yaml:19: requantize.multiplier_bits: found 14, expected 15 to 31"},
        Mistake{"a_method", "method: divide", "method: multiply",
                "p.yaml:20: rounding.method: found 'multiply', expected divide, reciprocal"},
        Mistake{"a_rounding", "mode: half_even", "mode: half_evn",
                "p.yaml:20: rounding.mode: found 'half_evn', expected half_even, half_away, half_up, did you mean "
                "'half_even'?"},
        Mistake{"a_multiple_of_zero", "multiple: 1", "multiple: 0",
                "p.yaml:23: channels.multiple: found 0, expected 1 to 4096"},
        Mistake{"channels_above", "above: 0", "above: -1", "p.yaml:23: channels.above: found -1, expected 0 to 65536"},
        Mistake{"a_mapping_in_place_of_text", "power_of_two: false", "power_of_two: {a: 1}",
                "p.yaml:18: power_of_two: found a mapping, expected true or false"},
        Mistake{"rules_that_are_no_list", "legal: []", "legal: {op: add}",
                "p.yaml:24: legal: found a mapping, expected a list of mappings"},
        Mistake{"a_rule_that_is_no_mapping", "legal: []", "legal: [add]",
                "p.yaml:24: legal[0]: found no mapping, expected keys and values"},
        Mistake{
            "a_rule_for_an_unknown_operator", "legal: []", "legal: [{op: conv2, reason: why}]",
            "p.yaml:24: legal[0].op: found 'conv2', expected an operator that can have codes, did you mean 'conv2d'?"},
        Mistake{"a_rule_for_an_unknown_kind", "legal: []", "legal: [{trait: heavy, reason: why}]",
                "p.yaml:24: legal[0].trait: found 'heavy', expected weighted, accumulates, pointwise, preserves_range, "
                "same_scale"},
        Mistake{"a_rule_without_a_reason", "legal: []", "legal: [{op: add, features: [8]}]",
                "p.yaml:24: legal[0].reason: is missing"},
        Mistake{"a_rule_with_features_in_words", "legal: []", "legal: [{op: add, features: all, reason: why}]",
                "p.yaml:24: legal[0].features: found 'all', expected a list of whole numbers"},
        Mistake{"a_rule_that_may_refuse", "legal: []", "legal: [{op: add, refused: perhaps, reason: why}]",
                "p.yaml:24: legal[0].refused: found 'perhaps', expected true or false"},
        Mistake{"a_rule_with_an_unknown_key", "legal: []", "legal: [{op: add, weight: [8], reason: why}]",
                "p.yaml:24: legal[0].weight: unknown key, did you mean 'weights'?"}),
    [](const auto& mistake) { return std::string(mistake.param.what); });

TEST(Platform, OverridesReachEveryField) {
  const auto platform =
      load_platform("generic_int8", {{"features.rate", "0.5"},
                                     {"requantize.multiplier_bits", "15"},
                                     {"weights", "{bits: 4, legal_bits: [4], granularity: tensor, observer: mse}"},
                                     {"weights.bits", "4"}});
  EXPECT_EQ(platform.rate, 0.5);
  EXPECT_EQ(platform.multiplier_bits, 15);
  EXPECT_EQ(platform.weights.legal, std::vector<int64_t>{4});
  EXPECT_FALSE(platform.per_channel);
}

TEST(Platform, OverridesOfWhatIsNotThereAreRefused) {
  EXPECT_EQ(error_of_override("generic_int8", "features.rat", "1"),
            "override 'features.rat': the platform has no key 'rat', did you mean 'rate'?; see halfstep platform keys");
  EXPECT_EQ(error_of_override("generic_int8", "roundin.mode", "1"),
            "override 'roundin.mode': the platform has no key 'roundin', did you mean 'rounding'?; see halfstep "
            "platform keys");
  EXPECT_EQ(error_of_override("generic_int8", "platform.name", "mine"),
            "override 'platform.name': the platform has no key 'name'; see halfstep platform keys");
  EXPECT_EQ(error_of_override("generic_int8", "features.rate", "[1"),
            "override 'features.rate':1: column 1: found what is no YAML, expected keys, values and brackets that end");
  EXPECT_EQ(error_of_override("generic_int8", "features.rate", "2"),
            "platforms/generic_int8.yaml:1: features.rate: found 2, expected 1e-06 to 1");
}

/// The resolved record has every override in it, and reads as the same platform.
TEST(Platform, TheResolvedRecordSaysEverything) {
  const Platform platform = load_platform("magik_t40", {{"features.rate", "0.5"}, {"rounding.mode", "half_away"}});
  EXPECT_NE(platform.text.find("rate: 0.5"), std::string::npos) << platform.text;
  const Platform again = parse_platform(platform.text, "again");
  EXPECT_EQ(again.text, platform.text);
  EXPECT_EQ(again.rate, 0.5);
  EXPECT_EQ(again.rounding, "half_away");
  EXPECT_EQ(again.channels.multiple, 32);
  EXPECT_EQ(again.legal.size(), 7U);
}

TEST(Platform, AreFoundByNameOrPath) {
  const TemporaryFolder folder;
  std::ofstream(folder / "mine.yaml") << replaced(record("generic_int8"), "platform: generic_int8", "platform: mine");
  EXPECT_EQ(load_platform((folder / "mine.yaml").string()).name, "mine");
  EXPECT_EQ(load_platform((folder / "mine.yaml").string(), {{"platform", "yours"}}).name, "yours");
  const std::string known = fmt::format("{}", fmt::join(platform_names(), ", "));
  EXPECT_EQ(error_of([] { load_platform("generic_int9"); }),
            "platform 'generic_int9' is not known, did you mean 'generic_int8'?; expected a file or one of " + known);
  for (const char* path : {"nowhere.yaml", "no/where", "/tmp/"}) {
    EXPECT_EQ(error_of([&] { load_platform(path); }),
              std::string(path) + ": cannot be read; expected a platform file or one of " + known);
  }
}

TEST(Platform, OfManyMegabytesIsNoRecord) {
  const TemporaryFolder folder;
  const std::string path = (folder / "large.yaml").string();
  std::ofstream(path) << "platform: " << std::string(2 << 20, 'a') << "\n";
  EXPECT_EQ(error_of([&] { load_platform(path); }),
            path + ": found 2097163 bytes, expected a platform record of 1048576 at most");
}

TEST(Platform, NamesMatchInAnyCase) {
  EXPECT_EQ(load_platform("ONNX_QNN").name, "onnx_qnn");
  EXPECT_EQ(load_platform("Tensorrt").name, "tensorrt");
}

/// A record says what it says, and its base the rest.
TEST(Platform, RecordsHaveBases) {
  const auto derived = [](const std::string& text) { return parse_platform("base: generic_int8\n" + text, "p.yaml"); };
  const Platform chip = derived("platform: chip\nfeatures: {bits: 4}\nshare_scales: []\n");
  EXPECT_EQ(chip.name, "chip");
  EXPECT_EQ(chip.features.default_bits, 4);
  EXPECT_EQ(chip.features.legal, load_platform("generic_int8").features.legal);
  EXPECT_TRUE(chip.share_scales.empty());
  EXPECT_EQ(chip.text.find("base"), std::string::npos) << "the record of a Model needs no other";
  EXPECT_EQ(parse_platform(chip.text, "again").text, chip.text);
  EXPECT_EQ(
      error_of([&] { parse_platform("base: generic_int9\nplatform: chip\n", "p.yaml"); }),
      "p.yaml:1: base: platform 'generic_int9' is not known, did you mean 'generic_int8'?; expected a file or one of " +
          fmt::format("{}", fmt::join(platform_names(), ", ")));
  EXPECT_EQ(error_of([&] { parse_platform("base: [a]\n", "p.yaml"); }), "p.yaml:1: base: found a list, expected text");
}

/// A base is built in or a file, seen from the record; what is wrong with it is said with what is wrong here.
TEST(Platform, BasesMayBeFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "chips");
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  const auto load = [&](const char* name) { return load_platform((folder / name).string()); };
  write("first.yaml", "base: Generic_INT8\nplatform: first\nfeatures: {bits: 4}\n");
  write("chips/second.yaml", "base: ../first.yaml\nplatform: second\nweights: {bits: 4}\n");
  EXPECT_EQ(load("chips/second.yaml").features.default_bits, 4);
  EXPECT_EQ(load("chips/second.yaml").weights.default_bits, 4);
  const std::string at = (folder / "").string();
  write("first.yaml", "base: chips/second.yaml\nplatform: first\n");
  EXPECT_EQ(error_of([&] { load("first.yaml"); }), at +
                                                       "chips/second.yaml:1: base: the record builds on itself: " + at +
                                                       "first.yaml, " + at + "chips/second.yaml, " + at + "first.yaml");
  write("first.yaml", "base: generic_int8\nplatform: first\nfeatures: {bist: 4}\n");
  write("chips/second.yaml", "base: ../first.yaml\nplatform: second\nweigths: {}\n");
  const std::string both = error_of([&] { load("chips/second.yaml"); });
  EXPECT_NE(both.find(at + "first.yaml:3: features.bist: unknown key, did you mean 'bits'?"), std::string::npos)
      << both;
  EXPECT_NE(both.find(at + "chips/second.yaml:3: weigths: unknown key, did you mean 'weights'?"), std::string::npos);
  EXPECT_EQ(both.find("is missing"), std::string::npos) << both;
}

/// What a base says may be wrong with what is said here: at the line of the mapping that it is in.
TEST(Platform, MistakesMayLieBetweenARecordAndItsBase) {
  EXPECT_EQ(error_of([] { parse_platform("base: tensorrt\nplatform: chip\nfeatures: {codes: unsigned}\n", "p.yaml"); }),
            "p.yaml:3: features.zero_points (of the base): symmetric needs signed codes; a negative value has no "
            "unsigned one");
  EXPECT_EQ(error_of([] { parse_platform("base: tensorrt\nplatform: chip\ninsert: {asks: [conv2d]}\n", "p.yaml"); }),
            "p.yaml:3: insert.merges[0] (of the base): has no effect, expected add among asks, or mul among gives; "
            "leave it out of insert.merges");
}

TEST(Platform, LayersInFloatNeedRulesOfInsertion) {
  for (const auto& [key, value] : {std::pair("weights.zero_points", "affine"), {"no_integers", "nobody knows"}}) {
    const std::string error = error_of([&] { load_platform("generic_int8", {{key, value}}); });
    EXPECT_NE(error.find(std::string(key) + ": leaves no layer to quantize, expected insert, which says where "
                                            "quantizers are"),
              std::string::npos)
        << error;
    EXPECT_NO_THROW(load_platform("generic_int8", {{key, value}, {"insert.asks", "[conv2d]"}}));
  }
}

/// What kinds of quantizers learn has to be what the record's numbers are.
TEST(Platform, KindsOfQuantizersFitTheirNumbers) {
  using Fields = std::vector<std::pair<std::string, std::string>>;
  const std::map<std::string, Fields> mistakes = {
      {"features.quantizer: tqt learns powers of two, expected power_of_two: true", {{"features.quantizer", "tqt"}}},
      {"weights.quantizer: lsq_plus learns zero points, expected affine ones", {{"weights.quantizer", "lsq_plus"}}},
      {"weights.quantizer: apot learns scales of any size, expected power_of_two: false",
       {{"weights.quantizer", "apot"}, {"power_of_two", "true"}}},
      {"weights.quantizer: nnie has codes of 8 bits, expected legal_bits: [8]", {{"weights.quantizer", "nnie"}}},
      {"features.quantizer: nnie has as many levels below 0 as above, expected symmetric or centered zero points",
       {{"features.quantizer", "nnie"}, {"features.legal_bits", "[8]"}}},
      {"features.quantizer: found 'packt'", {{"features.quantizer", "packt"}}},
      {"quantizers.keep: found 0, expected 0.01 to 1", {{"quantizers.keep", "0"}}},
  };
  for (const auto& [message, fields] : mistakes) {
    const std::string error = error_of([&] { load_platform("generic_int8", fields); });
    EXPECT_NE(error.find(message), std::string::npos) << error;
  }
}

TEST(Platform, OverridesReachSectionsThatARecordLacks) {
  EXPECT_EQ(load_platform("generic_int8", {{"insert.asks", "[conv2d]"}}).insertion->asks,
            std::vector<std::string>{"conv2d"});
}

TEST(Platform, WhatIsNoRecordIsRefused) {
  for (const auto& [text, found] : std::map<std::string, std::string>{
           {"", "nothing"}, {"# a chip\n", "nothing"}, {"platform", "no mapping"}, {"[1, 2]", "no mapping"}})
    EXPECT_EQ(
        error_of([&] { parse_platform(text, "p.yaml"); }),
        "p.yaml:1: record: found " + found + ", expected keys and values; begin with: halfstep platform new NAME");
}

TEST(Platform, ObjectsToWidthsByTheFirstRuleThatHolds) {
  const Platform platform = load_platform(
      "generic_int8", {{"legal",
                        "[{op: conv2d, features: [4, 8], weights: [8], reason: so it is built}, {op: sigmoid, refused: "
                        "true, reason: no table is long enough}, {trait: weighted, weights: [2], reason: tiny}]"}});
  using Objections = std::vector<std::string>;
  const auto objections = [&](const char* name, int weight_bits, int feature_bits) {
    Objections reasons;
    for (const Objection& one : platform.objections({.op = find_operator(name)}, weight_bits, feature_bits)) {
      EXPECT_EQ(one.where + one.remedy, "");
      reasons.push_back(one.reason());
    }
    return reasons;
  };
  EXPECT_EQ(objections("conv2d", 8, 8), Objections());
  EXPECT_EQ(objections("conv2d", 4, 6),
            Objections({"features on generic_int8: found 6 bits, expected 4, 8 (so it is built)",
                        "weights on generic_int8: found 4 bits, expected 8 (so it is built)"}));
  EXPECT_EQ(objections("conv2d", 9, 9),
            Objections({"features on generic_int8: found 9 bits, expected 2, 3, 4, 5, 6, 7, 8",
                        "weights on generic_int8: found 9 bits, expected 2, 3, 4, 5, 6, 7, 8"}));
  EXPECT_EQ(objections("conv2d", 0, 8), Objections());
  EXPECT_EQ(objections("linear", 8, 8), Objections({"weights on generic_int8: found 8 bits, expected 2 (tiny)"}));
  EXPECT_EQ(objections("linear", 2, 5), Objections());
  EXPECT_EQ(objections("add", 0, 5), Objections());
  EXPECT_EQ(objections("sigmoid", 0, 8), Objections({"generic_int8 has no sigmoid: no table is long enough"}));
}

TEST(Platform, FusesWhatItLists) {
  const Platform platform = load_platform("generic_int8");
  EXPECT_TRUE(platform.fuses("leaky_relu", Trait::weighted));
  EXPECT_FALSE(platform.fuses("leaky_relu", Trait::accumulates));
  EXPECT_TRUE(platform.fuses("relu6", Trait::accumulates));
  EXPECT_FALSE(platform.fuses("sigmoid", Trait::weighted));
  EXPECT_FALSE(platform.fuses("relu", Trait::pointwise));
}

}  // namespace
}  // namespace halfstep::quant
