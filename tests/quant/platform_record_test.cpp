// Records in text form: they read as the same platform, and every key is explained.
#include "halfstep/quant/platform/platform_record.h"
#include "halfstep/quant/platform/record_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace halfstep::quant {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

TEST(PlatformRecord, ReadsAsThePlatformThatItIs) {
  for (const std::string& name : platform_names()) {
    const Platform platform = load_platform(name);
    for (const bool commented : {false, true}) {
      const std::string text = commented ? commented_record_text(platform) : record_text(platform);
      const Platform again = parse_platform(text, "again.yaml");
      EXPECT_TRUE(differences(platform, again).empty()) << text;
      EXPECT_EQ(commented ? commented_record_text(again) : record_text(again), text);
      EXPECT_EQ(std::ranges::count(text, '#') > 40, commented);
    }
  }
}

TEST(PlatformRecord, KeepsWhatYamlCouldMisread) {
  const Platform platform =
      load_platform("generic_int8",
                    {{"platform", "'12'"}, {"legal", "[{op: add, activations: [8], reason: 'sums, products: {8}'}]"}});
  const Platform again = parse_platform(commented_record_text(platform), "again.yaml");
  EXPECT_EQ(again.name, "12");
  ASSERT_EQ(again.legal.size(), 1U);
  EXPECT_EQ(again.legal[0].reason, "sums, products: {8}");
}

TEST(PlatformRecord, DefaultsAreResolved) {
  const auto all = fields(load_platform("magik_t40"));
  const auto value = [&](const std::string& path) { return std::ranges::find(all, path, &RecordField::path)->value; };
  EXPECT_EQ(value("activations.codes"), "unsigned");
  EXPECT_EQ(value("requantize.rounding"), "half_up");
  EXPECT_EQ(value("keep_scales"), "[]");
  EXPECT_EQ(value("legal[6]"),
            "{trait: pointwise, activations: [4, 8], reason: tables of sigmoid and silu have 4- or 8-bit codes}");
}

TEST(PlatformRecord, DifferencesAreOfWhatTheChipsCanDo) {
  const auto chip = [](Overrides overrides) {
    overrides.insert(overrides.begin(), {"legal",
                                         "[{trait: accumulates, activations: [8], reason: b}, {trait: pointwise, "
                                         "activations: [4, 8], reason: c}]"});
    return load_platform("magik_t40", overrides);
  };
  const auto changes = [&](const Overrides& overrides) {
    std::vector<std::vector<std::string>> all;
    for (const auto& one : differences(chip({}), chip(overrides)))
      all.push_back({one.path, one.first.value_or("-"), one.second.value_or("-")});
    return all;
  };
  using Changes = std::vector<std::vector<std::string>>;
  EXPECT_EQ(changes({{"platform", "other"}, {"doc", "Another."}, {"activations.rate", "5e-2"}, {"power_of_two", "no"}}),
            Changes());
  EXPECT_EQ(changes({{"activations.rate", "0.1"},
                     {"legal", "[{op: add, activations: [8], reason: a}]"},
                     {"share_scales", "[add]"}}),
            Changes({{"activations.rate", "0.05", "0.1"},
                     {"share_scales", "[concat]", "[add]"},
                     {"legal[0]", "{trait: accumulates, activations: [8], reason: b}",
                      "{op: add, activations: [8], reason: a}"},
                     {"legal[1]", "{trait: pointwise, activations: [4, 8], reason: c}", "-"}}));
}

/// A resolved record is complete without its base. It only suggests keys that the platform does not use in comments.
TEST(PlatformRecord, BasesAreResolved) {
  const Platform chip = parse_platform("base: vitis\nplatform: chip\nfeatures: {rate: 0.5}\n", "chip.yaml");
  const std::string plain = record_text(chip), commented = commented_record_text(chip);
  EXPECT_EQ(plain.find("base:"), std::string::npos);
  EXPECT_NE(plain.find("\n  gives: [conv2d, conv, conv_transpose, linear,"), std::string::npos) << plain;
  EXPECT_NE(plain.find("\n  merges: []\n"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("first_and_last"), std::string::npos) << plain;
  EXPECT_NE(commented.find("\n# first_and_last:\n"), std::string::npos) << commented;
  EXPECT_NE(commented.find("\n  # bits: 8\n"), std::string::npos) << commented;
  ASSERT_EQ(differences(chip, load_platform("vitis")).size(), 1U);
  EXPECT_EQ(differences(chip, load_platform("vitis"))[0].path, "activations.rate");
  const auto merges = fields(load_platform("tensorrt_nlp"));
  const auto second = std::ranges::find(merges, "insert.merges[1]", &RecordField::path);
  ASSERT_NE(second, merges.end());
  EXPECT_EQ(second->value, "{of: div, into: add}");
}

TEST(PlatformRecord, AsJsonHasTypes) {
  const auto json = record_json(load_platform("magik_t40"));
  EXPECT_EQ(json["activations"]["legal_bits"], (nlohmann::json{4, 8, 10, 12}));
  EXPECT_EQ(json["activations"]["rate"], 0.05);
  EXPECT_EQ(json["power_of_two"], false);
  EXPECT_EQ(json["keep_scales"], nlohmann::json::array());
  EXPECT_EQ(json["legal"][6]["trait"], "pointwise");
  EXPECT_FALSE(json["legal"][6].contains("op"));
}

/// A list of one rule: `parts`, with the key's example in place of the part that it replaces.
std::string rule_with(const RecordKey& key, const std::vector<std::string>& parts) {
  const std::string own = last_name(key) + ": " + key.example;
  std::string rule;
  for (const std::string& part : parts) {
    const bool replaces = part.starts_with(last_name(key) + ":") ||
                          (part.starts_with("op:") && own.starts_with("trait")) ||
                          (part.starts_with("weights") && own.starts_with("refused"));
    if (!replaces) rule += part + ", ";
  }
  return "[{" + rule + own + "}]";
}

/// Every key has a sentence and an example, and the example is legal.
TEST(PlatformRecord, EveryKeyIsExplained) {
  for (const RecordKey& key : platform_keys()) {
    EXPECT_TRUE(key.doc.ends_with(".")) << key.path;
    if (key.kind == ValueKind::mapping || key.kind == ValueKind::mappings) continue;
    ASSERT_FALSE(key.example.empty()) << key.path;
    // Other keys that some keys need to have an effect.
    Overrides overrides = {{"activations.codes", "signed"}, {"channels.multiple", "8"}};
    if (key.path == "insert.as") overrides.emplace_back("insert.quirks", "[{quirk: single_output, reason: why}]");
    if (key.path.starts_with("insert.") || key.path == "no_integers")
      overrides.insert(overrides.end(), {{"insert.asks", "[add]"},
                                         {"insert.gives", "[conv2d]"},
                                         {"insert.unsigned_behind", "[relu]"},
                                         {"insert.propagates", "{through: [flatten], to: [linear]}"}});
    if (key.path.starts_with("legal.")) {
      overrides.emplace_back("legal", key.path == "legal.inputs_above"
                                          ? rule_with(key, {"op: concat", "activations: [8]", "reason: why"})
                                          : rule_with(key, {"op: conv2d", "weights: [8]", "reason: why"}));
    } else if (key.path.starts_with("insert.quirks.")) {
      overrides.emplace_back("insert.quirks", rule_with(key, {"quirk: single_output", "reason: why"}));
    } else if (key.path.starts_with("insert.merges.")) {
      overrides.emplace_back("insert.merges", rule_with(key, {"of: mul", "into: add"}));
    } else {
      overrides.emplace_back(key.path, key.example);
    }
    const char* platform = key.path == "requantize.average_bits" ? "pow2_int8" : "generic_int8";
    EXPECT_NO_THROW(load_platform(platform, overrides)) << key.path;
  }
}

}  // namespace
}  // namespace halfstep::quant
