// Platform records: they must name things that exist and are possible, and every mistake has its line.
#include "halfstep/quant/platform/platform.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/core/base/embedded.h"
#include "halfstep/quant/platform/errors.h"
#include "tests/quant/at.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::quant {
namespace {

using test::at;
using test::diagnostic_of;
using test::TemporaryFolder;

const std::string kRecord = "platforms/generic_int8.yaml:1: ";

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
Diagnostic error_with(const std::string& from, const std::string& to) {
  return diagnostic_of([&] { parse_platform(replaced(record("generic_int8"), from, to), "p.yaml"); });
}

Diagnostic error_of_override(const std::string& platform, const std::string& key, const std::string& value) {
  return diagnostic_of([&] { load_platform(platform, {{key, value}}); });
}

TEST(Platform, OperatorsInFloatAreSomeThatCouldHaveCodes) {
  EXPECT_EQ(load_platform("generic_int8", {{"in_float", "[softmax, gelu]"}}).in_float.size(), 2U);
  EXPECT_EQ(error_of_override("generic_int8", "in_float", "[lstm]"),
            at("platforms/generic_int8.yaml:1: in_float",
               errors::record_name_unsuitable("lstm", "operators that can have codes", "")));
}

TEST(Platform, BuiltInRecordsAreRead) {
  for (const std::string& name : platform_names()) EXPECT_EQ(load_platform(name).name, name);
}

TEST(Platform, KeysGivenTwiceNameBothLines) {
  EXPECT_EQ(error_with("first_and_last: {bits: 8}", "first_and_last: {bits: 8}\nedges: {bits: 4}"),
            at("p.yaml:18: first_and_last", errors::record_key_twice(17)));
  EXPECT_EQ(error_with("  rate: 0.05", "  rate: 0.05\n  bits: 4"),
            at("p.yaml:16: activations.bits", errors::record_key_twice(10)));
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {op: add, reason: a, activations: [8],\n     reason: b}"),
            at("p.yaml:26: legal[0].reason", errors::record_key_twice(25)));
  EXPECT_EQ(error_of_override("generic_int8", "first_and_last", "{bits: 8, bits: 4}"),
            at("platforms/generic_int8.yaml:1: first_and_last.bits", errors::record_key_twice(1)));
}

TEST(Platform, WhatIsNoYamlIsSaidInOurWords) {
  EXPECT_EQ(error_with("share_scales: [concat]", "share_scales: [concat"),
            errors::yaml_invalid("p.yaml:22: column 18"));
  EXPECT_EQ(error_with("first_and_last: {bits: 8}", "[a, b]: 8"),
            at("p.yaml:17: record", errors::record_key_not_text()));
  EXPECT_EQ(error_with("first_and_last: {bits: 8}", "first_and_last: 8"),
            at("p.yaml:17: first_and_last", errors::record_section_without_keys("no mapping")));
  EXPECT_EQ(error_with("first_and_last: {bits: 8}", "first_and_last: {bits: [8]}"),
            at("p.yaml:17: first_and_last.bits", errors::record_value_kind("a list", "an integer")));
  EXPECT_EQ(error_with("share_scales: [concat]", "share_scales:"),
            at("p.yaml:22: share_scales", errors::record_value_kind("nothing", "a list of names")));
}

TEST(Platform, ActivationsAreThoseThatOperatorsTakeIn) {
  const std::string accumulates = "platforms/generic_int8.yaml:1: fused_activations.accumulates";
  const std::string form =
      "activation functions that such operators can fuse with the fixed_point form of requantization: ";
  EXPECT_EQ(error_of_override("generic_int8", "fused_activations.accumulates", "[leaky_relu, relu, relu6]"),
            at(accumulates, errors::record_name_unsuitable("leaky_relu", form + "relu, relu6", "")));
  EXPECT_EQ(error_of_override("generic_int8", "fused_activations.accumulates", "[rellu]"),
            at(accumulates, errors::record_name_unsuitable("rellu", form + "relu, relu6", ", did you mean 'relu'?")));
  EXPECT_EQ(error_of_override("generic_int8", "fused_activations.weighted", "[sigmoid]"),
            at("platforms/generic_int8.yaml:1: fused_activations.weighted",
               errors::record_name_unsuitable("sigmoid", form + "leaky_relu, relu, relu6", "")));
}

TEST(Platform, FormsThatKeepScalesHaveNoLeakyRelu) {
  for (const auto& [platform, form] : std::map<std::string, std::string>{
           {"onnxruntime_int8", "float32"}, {"pytorch_fbgemm", "fbgemm"}, {"pytorch_x86", "x86"}}) {
    EXPECT_EQ(error_of_override(platform, "fused_activations.weighted", "[leaky_relu]"),
              at("platforms/" + platform + ".yaml:1: fused_activations.weighted",
                 errors::record_name_unsuitable("leaky_relu",
                                                "activation functions that such operators can fuse with the " + form +
                                                    " form of requantization: relu, relu6",
                                                "")));
  }
  EXPECT_EQ(load_platform("pow2_int8", {{"fused_activations.weighted", "[leaky_relu]"}}).weighted_activations.size(),
            1U);
}

TEST(Platform, ScalesAreSharedAndKeptWhereThatIsPossible) {
  const std::string share_scales = "platforms/generic_int8.yaml:1: share_scales";
  const std::string joining = "operators that read several values of codes";
  EXPECT_EQ(error_of_override("generic_int8", "share_scales", "[concatt]"),
            at(share_scales, errors::record_name_unsuitable("concatt", joining, ", did you mean 'concat'?")));
  for (const std::string op : {"softmax", "relu", "conv2d", "flatten"}) {
    EXPECT_EQ(error_of_override("generic_int8", "share_scales", "[" + op + "]"),
              at(share_scales, errors::record_name_unsuitable(op, joining, "")));
  }
  EXPECT_EQ(load_platform("generic_int8", {{"share_scales", "[concat, add, mul]"}}).share_scales.size(), 3U);

  const std::string expected = "operators on codes whose result has its own scale";
  const std::map<std::string, std::string> refused = {{"log_softmax", ""},
                                                      {"relu", ", did you mean 'celu'?"},
                                                      {"concat", ""},
                                                      {"max_pool2d", ", did you mean 'avg_pool2d'?"}};
  for (const auto& [op, hint] : refused)
    EXPECT_EQ(error_of_override("pytorch_fbgemm", "keep_scales", "[" + op + "]"),
              at("platforms/pytorch_fbgemm.yaml:1: keep_scales", errors::record_name_unsuitable(op, expected, hint)));
  EXPECT_EQ(load_platform("pytorch_fbgemm", {{"keep_scales", "[add, conv2d, sigmoid]"}}).keep_scales.size(), 3U);
}

/// One reading reports all mistakes in the order of lines, and no consequences of other mistakes.
TEST(Platform, SaysAllMistakesAtOnce) {
  std::string text = record("generic_int8");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"granularity: channel", "granularty: channel"},
           {"zero_points: affine", "zero_points: symmetric"},
           {"below: 8", "below: many"},
           {"first_and_last: {bits: 8}", "first_and_last: {bits: 8}\nedges: {bits: 4}"},
           {"form: fixed_point, multiplier_bits: 31", "form: float32, multiplier_bits: 15"},
           {"share_scales: [concat]", "share_scales: [conv2d, concat, concat]"},
           {"weighted: [relu, relu6, leaky_relu]", "weighted: [hard_swish]"},
           {"legal: []", "legal: [{op: add, weights: [8], reason: why}]"}})
    text = replaced(text, from, to);
  EXPECT_EQ(test::kind_of([&] { parse_platform(text, "p"); }), ErrorKind::bad_input);
  EXPECT_EQ(test::diagnostics_of([&] { parse_platform(text, "p"); }),
            (std::vector<Diagnostic>{
                at("p:7: weights.granularty", errors::record_key_unknown(", did you mean 'granularity'?")),
                at("p:13: activations.zero_points", errors::zero_points_need_signed_codes("symmetric")),
                at("p:16: low_bits.below", errors::record_value_kind("'many'", "an integer")),
                at("p:18: first_and_last", errors::record_key_twice(17)),
                at("p:20: requantize.multiplier_bits", errors::multiplier_bits_without_multiplier("float32", 15)),
                at("p:22: share_scales", errors::record_value_twice("concat")),
                at("p:22: share_scales",
                   errors::record_name_unsuitable("conv2d", "operators that read several values of codes", "")),
                at("p:23: fused_activations.weighted",
                   errors::record_name_unsuitable("hard_swish",
                                                  "activation functions that such operators can fuse with the float32 "
                                                  "form of requantization: relu, relu6",
                                                  "")),
                at("p:25: legal[0].weights",
                   errors::rule_does_not_fit_operators("operators without weights", "only activations"))}));
}

/// A mistake in a form leads to no objections against keys that depend on it.
TEST(Platform, SaysNothingThatFollowsFromAnotherMistake) {
  EXPECT_EQ(error_with("form: fixed_point, multiplier_bits: 31, rounding: half_up",
                       "form: powers, multiplier_bits: 15, rounding: doubled"),
            at("p.yaml:19: requantize.form",
               errors::record_value_not_a_choice("'powers'", "fixed_point, power_of_two, float32, fbgemm, x86", "")));
  EXPECT_EQ(error_with("codes: unsigned\n  zero_points: affine", "codes: sgned\n  zero_points: symmetric"),
            at("p.yaml:12: activations.codes",
               errors::record_value_not_a_choice("'sgned'", "unsigned, signed", ", did you mean 'signed'?")));
  EXPECT_EQ(error_with("legal: []", "legal: [{op: add, activatons: [8], reason: why}]"),
            at("p.yaml:24: legal[0].activatons", errors::record_key_unknown(", did you mean 'activations'?")));
  EXPECT_EQ(error_with("legal_bits: [2, 3, 4, 5, 6, 7, 8]\n  granularity", "legal_bits: [2, 9]\n  granularity"),
            at("p.yaml:6: weights.legal_bits", errors::record_value_out_of_range(9, "2 to 8")));
}

/// A record may omit keys with a default, and an override may set them.
TEST(Platform, OptionalKeysCanBeOverridden) {
  const Platform platform =
      load_platform("magik_t40", {{"requantize.rounding", "half_even"}, {"keep_scales", "[avg_pool2d]"}});
  EXPECT_EQ(platform.shift_rounding, "half_even");
  EXPECT_EQ(platform.keep_scales, std::vector<std::string>{"avg_pool2d"});
}

TEST(Platform, ALegalRuleIsForAnOperatorOrAKind) {
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {activations: [8], reason: why}"),
            at("p.yaml:25: legal[0]", errors::rule_without_one_operator("neither op nor trait")));
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {op: add, trait: accumulates, activations: [8], reason: why}"),
            at("p.yaml:25: legal[0]", errors::rule_without_one_operator("both op and trait")));
}

struct Mistake {
  const char *name, *from, *to, *where;
  Diagnostic expected;
};

class PlatformMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(PlatformMistakes, AreNamedWithLineAndKey) {
  EXPECT_EQ(error_with(GetParam().from, GetParam().to), at(GetParam().where, GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Values, PlatformMistakes,
    testing::Values(
        Mistake{"a_width_below_two", "legal_bits: [2, 3", "legal_bits: [1, 3", "p.yaml:6: weights.legal_bits",
                errors::record_value_out_of_range(1, "2 to 8")},
        Mistake{"a_width_above_sixteen", "legal_bits: [2, 3", "legal_bits: [17, 3", "p.yaml:6: weights.legal_bits",
                errors::record_value_out_of_range(17, "2 to 8")},
        Mistake{"wide_weights", "legal_bits: [2, 3", "legal_bits: [9, 3", "p.yaml:6: weights.legal_bits",
                errors::record_value_out_of_range(9, "2 to 8")},
        Mistake{"a_default_that_is_not_legal", "legal_bits: [2, 3, 4, 5, 6, 7, 8]", "legal_bits: [2, 3]",
                "p.yaml:5: weights.bits", errors::default_bits_not_legal(8, "2, 3")},
        Mistake{"no_legal_width", "legal_bits: [2, 3, 4, 5, 6, 7, 8]", "legal_bits: []", "p.yaml:6: weights.legal_bits",
                errors::legal_bits_empty()},
        Mistake{"bit_widths_that_are_no_list", "legal_bits: [2, 3, 4, 5, 6, 7, 8]", "legal_bits: 8",
                "p.yaml:6: weights.legal_bits", errors::record_value_kind("'8'", "a list of integers")},
        Mistake{"bit_widths_that_are_no_numbers", "legal_bits: [2, 3", "legal_bits: [two, 3",
                "p.yaml:6: weights.legal_bits", errors::record_value_kind("'two'", "a list of integers")},
        Mistake{"a_granularity", "granularity: channel", "granularity: chanel", "p.yaml:7: weights.granularity",
                errors::record_value_not_a_choice("'chanel'", "channel, tensor", ", did you mean 'channel'?")},
        Mistake{"a_misspelled_key", "granularity:", "granularty:", "p.yaml:7: weights.granularty",
                errors::record_key_unknown(", did you mean 'granularity'?")},
        Mistake{"an_unknown_key", "granularity: channel", "granularity: channel\n  colour: red",
                "p.yaml:8: weights.colour", errors::record_key_unknown("")},
        Mistake{"an_unknown_key_of_the_record", "power_of_two: false", "power_of_two: false\npower_of_tow: 1",
                "p.yaml:19: power_of_tow", errors::record_key_unknown(", did you mean 'power_of_two'?")},
        Mistake{"an_observer", "observer: minmax", "observer: minmix", "p.yaml:8: weights.observer",
                errors::record_value_not_a_choice(
                    "'minmix'",
                    "minmax, ema_minmax, mse, ema_mse, quantile, ema_quantile, clip_std, widen_std, lsq, lsq_plus, "
                    "power_floor, power_mode, percentile, kl, histogram",
                    ", did you mean 'minmax'?")},
        Mistake{"zero_points", "zero_points: affine", "zero_points: symmetric", "p.yaml:13: activations.zero_points",
                errors::zero_points_need_signed_codes("symmetric")},
        Mistake{"a_rate_of_zero", "rate: 0.05", "rate: 0", "p.yaml:15: activations.rate",
                errors::record_value_out_of_range(0, "1e-06 to 1")},
        Mistake{"a_rate_that_is_no_number", "rate: 0.05", "rate: .nan", "p.yaml:15: activations.rate",
                errors::record_value_out_of_range("nan", "1e-06 to 1")},
        Mistake{"a_rate_in_words", "rate: 0.05", "rate: slow", "p.yaml:15: activations.rate",
                errors::record_value_kind("'slow'", "a number")},
        Mistake{"low_bits_below", "below: 8", "below: 18", "p.yaml:16: low_bits.below",
                errors::record_value_out_of_range(18, "0 to 17")},
        Mistake{"low_bits_that_may_be_learned", "learned: true", "learned: maybe", "p.yaml:16: low_bits.learned",
                errors::record_value_kind("'maybe'", "true or false")},
        Mistake{"low_bits_with_more", "learned: true", "learned: true, rate: 1", "p.yaml:16: low_bits.rate",
                errors::record_key_unknown("")},
        Mistake{"wide_edges", "first_and_last: {bits: 8}", "first_and_last: {bits: 9}",
                "p.yaml:17: first_and_last.bits", errors::record_value_out_of_range(9, "2 to 8")},
        Mistake{"a_form_of_requantization", "form: fixed_point", "form: fixed", "p.yaml:19: requantize.form",
                errors::record_value_not_a_choice("'fixed'", "fixed_point, power_of_two, float32, fbgemm, x86", "")},
        Mistake{"a_form_that_needs_other_scales", "form: fixed_point", "form: power_of_two",
                "p.yaml:19: requantize.form", errors::power_of_two_form_needs_scales()},
        Mistake{"a_form_without_leaky_relu", "form: fixed_point", "form: float32",
                "p.yaml:22: fused_activations.weighted",
                errors::record_name_unsuitable("leaky_relu",
                                               "activation functions that such operators can fuse with the float32 "
                                               "form of requantization: relu, relu6",
                                               "")},
        Mistake{"a_short_multiplier", "multiplier_bits: 31", "multiplier_bits: 14",
                "p.yaml:19: requantize.multiplier_bits", errors::record_value_out_of_range(14, "15 to 31")},
        Mistake{"a_method", "method: divide", "method: multiply", "p.yaml:20: rounding.method",
                errors::record_value_not_a_choice("'multiply'", "divide, reciprocal", "")},
        Mistake{"a_rounding", "mode: half_even", "mode: half_evn", "p.yaml:20: rounding.mode",
                errors::record_value_not_a_choice("'half_evn'", "half_even, half_away, half_up",
                                                  ", did you mean 'half_even'?")},
        Mistake{"a_multiple_of_zero", "multiple: 1", "multiple: 0", "p.yaml:23: channels.multiple",
                errors::record_value_out_of_range(0, "1 to 4096")},
        Mistake{"channels_above", "above: 0", "above: -1", "p.yaml:23: channels.above",
                errors::record_value_out_of_range(-1, "0 to 65536")},
        Mistake{"a_mapping_in_place_of_text", "power_of_two: false", "power_of_two: {a: 1}", "p.yaml:18: power_of_two",
                errors::record_value_kind("a mapping", "true or false")},
        Mistake{"rules_that_are_no_list", "legal: []", "legal: {op: add}", "p.yaml:24: legal",
                errors::record_value_kind("a mapping", "a list of mappings")},
        Mistake{"a_rule_that_is_no_mapping", "legal: []", "legal: [add]", "p.yaml:24: legal[0]",
                errors::record_section_without_keys("no mapping")},
        Mistake{"a_rule_for_an_unknown_operator", "legal: []", "legal: [{op: conv2, reason: why}]",
                "p.yaml:24: legal[0].op",
                errors::record_name_unsuitable("conv2", "an operator that can have codes", ", did you mean 'conv2d'?")},
        Mistake{"a_rule_for_an_unknown_kind", "legal: []", "legal: [{trait: heavy, reason: why}]",
                "p.yaml:24: legal[0].trait",
                errors::record_value_not_a_choice("'heavy'",
                                                  "weighted, accumulates, pointwise, preserves_range, same_scale", "")},
        Mistake{"a_rule_without_a_reason", "legal: []", "legal: [{op: add, activations: [8]}]",
                "p.yaml:24: legal[0].reason", errors::record_list_key_missing()},
        Mistake{"a_rule_with_activations_in_words", "legal: []", "legal: [{op: add, activations: all, reason: why}]",
                "p.yaml:24: legal[0].activations", errors::record_value_kind("'all'", "a list of integers")},
        Mistake{"a_rule_that_may_refuse", "legal: []", "legal: [{op: add, refused: perhaps, reason: why}]",
                "p.yaml:24: legal[0].refused", errors::record_value_kind("'perhaps'", "true or false")},
        Mistake{"a_rule_with_an_unknown_key", "legal: []", "legal: [{op: add, weight: [8], reason: why}]",
                "p.yaml:24: legal[0].weight", errors::record_key_unknown(", did you mean 'weights'?")}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(Platform, OverridesReachEveryField) {
  const auto platform =
      load_platform("generic_int8", {{"activations.rate", "0.5"},
                                     {"requantize.multiplier_bits", "15"},
                                     {"weights", "{bits: 4, legal_bits: [4], granularity: tensor, observer: mse}"},
                                     {"weights.bits", "4"}});
  EXPECT_EQ(platform.rate, 0.5);
  EXPECT_EQ(platform.multiplier_bits, 15);
  EXPECT_EQ(platform.weights.legal, std::vector<int64_t>{4});
  EXPECT_FALSE(platform.per_channel);
}

TEST(Platform, OverridesOfWhatIsNotThereAreRefused) {
  EXPECT_EQ(error_of_override("generic_int8", "activations.rat", "1"),
            errors::override_of_unknown_key("activations.rat", "rat", ", did you mean 'rate'?"));
  EXPECT_EQ(error_of_override("generic_int8", "roundin.mode", "1"),
            errors::override_of_unknown_key("roundin.mode", "roundin", ", did you mean 'rounding'?"));
  EXPECT_EQ(error_of_override("generic_int8", "platform.name", "mine"),
            errors::override_of_unknown_key("platform.name", "name", ""));
  EXPECT_EQ(error_of_override("generic_int8", "activations.rate", "[1"),
            errors::yaml_invalid("override 'activations.rate':1: column 1"));
  EXPECT_EQ(error_of_override("generic_int8", "activations.rate", "2"),
            at("platforms/generic_int8.yaml:1: activations.rate", errors::record_value_out_of_range(2, "1e-06 to 1")));
}

/// The resolved record contains every override, and reads as the same platform.
TEST(Platform, TheResolvedRecordSaysEverything) {
  const Platform platform = load_platform("magik_t40", {{"activations.rate", "0.5"}, {"rounding.mode", "half_away"}});
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
  EXPECT_EQ(diagnostic_of([] { load_platform("generic_int9"); }),
            errors::platform_unknown("generic_int9", known, ", did you mean 'generic_int8'?"));
  for (const char* path : {"nowhere.yaml", "no/where", "/tmp/"})
    EXPECT_EQ(diagnostic_of([&] { load_platform(path); }), errors::platform_file_unreadable(path, known));
}

TEST(Platform, OfManyMegabytesIsNoRecord) {
  const TemporaryFolder folder;
  const std::string path = (folder / "large.yaml").string();
  std::ofstream(path) << "platform: " << std::string(2 << 20, 'a') << "\n";
  EXPECT_EQ(diagnostic_of([&] { load_platform(path); }), errors::platform_file_too_large(path, 2097163, 1048576));
}

TEST(Platform, NamesMatchInAnyCase) {
  EXPECT_EQ(load_platform("ONNX_QNN").name, "onnx_qnn");
  EXPECT_EQ(load_platform("Tensorrt").name, "tensorrt");
}

/// A record overrides its base, and the base supplies the rest.
TEST(Platform, RecordsHaveBases) {
  const auto derived = [](const std::string& text) { return parse_platform("base: generic_int8\n" + text, "p.yaml"); };
  const Platform chip = derived("platform: chip\nfeatures: {bits: 4}\nshare_scales: []\n");
  EXPECT_EQ(chip.name, "chip");
  EXPECT_EQ(chip.activations.default_bits, 4);
  EXPECT_EQ(chip.activations.legal, load_platform("generic_int8").activations.legal);
  EXPECT_TRUE(chip.share_scales.empty());
  EXPECT_EQ(chip.text.find("base"), std::string::npos) << "the record of a Model needs no other";
  EXPECT_EQ(parse_platform(chip.text, "again").text, chip.text);
  EXPECT_EQ(diagnostic_of([&] { parse_platform("base: generic_int9\nplatform: chip\n", "p.yaml"); }),
            at("p.yaml:1: base: platform",
               errors::platform_unknown("generic_int9", fmt::format("{}", fmt::join(platform_names(), ", ")),
                                        ", did you mean 'generic_int8'?")));
  EXPECT_EQ(diagnostic_of([&] { parse_platform("base: [a]\n", "p.yaml"); }),
            at("p.yaml:1: base", errors::record_value_kind("a list", "text")));
}

/// A base is built in, or a file relative to the record. Its mistakes are reported together with those of the record.
TEST(Platform, BasesMayBeFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "chips");
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  const auto load = [&](const char* name) { return load_platform((folder / name).string()); };
  write("first.yaml", "base: Generic_INT8\nplatform: first\nfeatures: {bits: 4}\n");
  write("chips/second.yaml", "base: ../first.yaml\nplatform: second\nweights: {bits: 4}\n");
  EXPECT_EQ(load("chips/second.yaml").activations.default_bits, 4);
  EXPECT_EQ(load("chips/second.yaml").weights.default_bits, 4);
  const std::string root = (folder / "").string();
  write("first.yaml", "base: chips/second.yaml\nplatform: first\n");
  const std::string first = root + "first.yaml", second = root + "chips/second.yaml";
  EXPECT_EQ(diagnostic_of([&] { load("first.yaml"); }),
            errors::base_includes_itself(second + ":1: base", first + ", " + second + ", " + first));
  write("first.yaml", "base: generic_int8\nplatform: first\nfeatures: {bist: 4}\n");
  write("chips/second.yaml", "base: ../first.yaml\nplatform: second\nweigths: {}\n");
  EXPECT_EQ(
      test::diagnostics_of([&] { load("chips/second.yaml"); }),
      (std::vector<Diagnostic>{at(first + ":3: activations.bist", errors::record_key_unknown(", did you mean 'bits'?")),
                               at(second + ":3: weigths", errors::record_key_unknown(", did you mean 'weights'?"))}));
}

/// A key of the base may conflict with the record. The error is at the line of its mapping.
TEST(Platform, MistakesMayLieBetweenARecordAndItsBase) {
  const auto derived = [](const std::string& text) {
    return diagnostic_of([&] { parse_platform("base: tensorrt\nplatform: chip\n" + text, "p.yaml"); });
  };
  EXPECT_EQ(derived("activations: {codes: unsigned}\n"),
            at("p.yaml:3: activations.zero_points (of the base)", errors::zero_points_need_signed_codes("symmetric")));
  EXPECT_EQ(derived("insert: {asks: [conv2d]}\n"),
            at("p.yaml:3: insert.merges[0] (of the base)", errors::merge_without_effect("mul", "add")));
}

TEST(Platform, LayersInFloatNeedRulesOfInsertion) {
  for (const auto& [key, value] : {std::pair("weights.zero_points", "affine"), {"no_integers", "nobody knows"}}) {
    EXPECT_EQ(error_of_override("generic_int8", key, value),
              at(kRecord + key, errors::float_layers_need_insertion_rules()));
    EXPECT_NO_THROW(load_platform("generic_int8", {{key, value}, {"insert.asks", "[conv2d]"}}));
  }
}

/// The kind of quantizer must suit the numbers of the record.
TEST(Platform, KindsOfQuantizersFitTheirNumbers) {
  using Fields = std::vector<std::pair<std::string, std::string>>;
  const auto kind = [](const char* name, const char* property, const char* expected) {
    return errors::quantizer_kind_does_not_fit(name, property, expected);
  };
  const std::vector<std::pair<Diagnostic, Fields>> mistakes = {
      {at(kRecord + "activations.quantizer", kind("tqt", "learns power-of-two scales", "power_of_two: true")),
       {{"activations.quantizer", "tqt"}}},
      {at(kRecord + "weights.quantizer", kind("lsq_plus", "learns zero points", "affine zero points")),
       {{"weights.quantizer", "lsq_plus"}}},
      {at(kRecord + "weights.quantizer", kind("apot", "learns arbitrary scales", "power_of_two: false")),
       {{"weights.quantizer", "apot"}, {"power_of_two", "true"}}},
      {at(kRecord + "weights.quantizer", kind("nnie", "has codes of 8 bits", "legal_bits: [8]")),
       {{"weights.quantizer", "nnie"}}},
      {at(kRecord + "activations.quantizer",
          kind("nnie", "has equally many levels below and above 0", "symmetric or centered zero points")),
       {{"activations.quantizer", "nnie"}, {"activations.legal_bits", "[8]"}}},
      {at(kRecord + "quantizers.keep", errors::record_value_out_of_range(0, "0.01 to 1")), {{"quantizers.keep", "0"}}},
  };
  for (const auto& [expected, fields] : mistakes) {
    const auto all = test::diagnostics_of([&] { load_platform("generic_int8", fields); });
    EXPECT_NE(std::ranges::find(all, expected), all.end()) << expected.message();
  }
  EXPECT_EQ(error_of_override("generic_int8", "activations.quantizer", "packt").entry,
            &errors::record_value_not_a_choice_entry);
}

TEST(Platform, NumbersFitTogether) {
  using Fields = std::vector<std::pair<std::string, std::string>>;
  const std::vector<std::pair<Diagnostic, Fields>> mistakes = {
      {at(kRecord + "requantize.rounding", errors::shift_rounding_without_shifts("float32", "half_even")),
       {{"requantize.rounding", "half_even"}, {"requantize.form", "float32"}, {"fused_activations.weighted", "[]"}}},
      {at(kRecord + "requantize.average_bits", errors::average_bits_without_shifts("fixed_point", 5)),
       {{"requantize.average_bits", "5"}}},
      {at(kRecord + "requantize.rounding", errors::doubled_rounding_needs_fixed_point()),
       {{"requantize.rounding", "doubled"}, {"requantize.multiplier_bits", "15"}}},
      {at("platforms/generic_int8.yaml:17: first_and_last", errors::first_last_with_insertion_rules(2, 1)),
       {{"first_and_last.first", "2"}, {"insert.asks", "[conv2d]"}}},
      {at(kRecord + "observers.steps", errors::observer_steps_too_few(10, 20)),
       {{"observers.steps", "10"}, {"observers.candidates", "20"}}},
      {at(kRecord + "weights.observer", errors::observer_gives_powers_of_two("power_floor")),
       {{"weights.observer", "power_floor"}}},
      {at(kRecord + "weights.observer", errors::observer_gives_any_scale("lsq")),
       {{"weights.observer", "lsq"}, {"power_of_two", "true"}}},
  };
  for (const auto& [expected, fields] : mistakes)
    EXPECT_EQ(diagnostic_of([&] { load_platform("generic_int8", fields); }), expected);
}

TEST(Platform, OverridesReachSectionsThatARecordLacks) {
  EXPECT_EQ(load_platform("generic_int8", {{"insert.asks", "[conv2d]"}}).insertion->asks,
            std::vector<std::string>{"conv2d"});
}

TEST(Platform, WhatIsNoRecordIsRefused) {
  for (const auto& [text, found] : std::map<std::string, std::string>{
           {"", "nothing"}, {"# a chip\n", "nothing"}, {"platform", "no mapping"}, {"[1, 2]", "no mapping"}})
    EXPECT_EQ(diagnostic_of([&] { parse_platform(text, "p.yaml"); }),
              at("p.yaml:1: record", errors::record_without_keys(found)));
}

TEST(Platform, ObjectsToBitWidthsByTheFirstRuleThatHolds) {
  const Platform platform = load_platform(
      "generic_int8",
      {{"legal",
        "[{op: conv2d, activations: [4, 8], weights: [8], reason: so it is built}, {op: sigmoid, refused: "
        "true, reason: no table is long enough}, {trait: weighted, weights: [2], reason: tiny}]"}});
  using Objections = std::vector<Diagnostic>;
  const auto objections = [&](const char* name, int weight_bits, int activation_bits) {
    return platform.objections({.op = find_operator(name)}, weight_bits, activation_bits);
  };
  const auto wrong = [](const char* values, int bits, const char* legal) {
    return errors::bits_not_legal(values, "generic_int8", bits, legal);
  };
  EXPECT_EQ(objections("conv2d", 8, 8), Objections());
  EXPECT_EQ(objections("conv2d", 4, 6),
            Objections({wrong("activations", 6, "4, 8 (so it is built)"), wrong("weights", 4, "8 (so it is built)")}));
  EXPECT_EQ(objections("conv2d", 9, 9),
            Objections({wrong("activations", 9, "2, 3, 4, 5, 6, 7, 8"), wrong("weights", 9, "2, 3, 4, 5, 6, 7, 8")}));
  EXPECT_EQ(objections("conv2d", 0, 8), Objections());
  EXPECT_EQ(objections("linear", 8, 8), Objections({wrong("weights", 8, "2 (tiny)")}));
  EXPECT_EQ(objections("linear", 2, 5), Objections());
  EXPECT_EQ(objections("add", 0, 5), Objections());
  EXPECT_EQ(objections("sigmoid", 0, 8),
            Objections({errors::operator_refused("generic_int8", "sigmoid", "no table is long enough")}));
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
