// Records of platforms: what they name must exist and be possible, and every mistake has its line.
#include "halfstep/quant/platform.h"

#include <gtest/gtest.h>

#include "halfstep/base/embedded.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::error_of;

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

TEST(Platform, BuiltInRecordsAreRead) {
  for (const std::string& name : platform_names()) EXPECT_EQ(load_platform(name).name, name);
}

TEST(Platform, KeysGivenTwiceNameBothLines) {
  EXPECT_EQ(error_with("edges: {bits: 8}", "edges: {bits: 8}\nedges: {bits: 4}"),
            "p.yaml:17: edges: the key is given twice, before in line 16");
  EXPECT_EQ(error_with("  rate: 0.05", "  rate: 0.05\n  bits: 4"),
            "p.yaml:15: features.bits: the key is given twice, before in line 10");
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {op: add, reason: a, features: [8],\n     reason: b}"),
            "p.yaml:25: legal[0].reason: the key is given twice, before in line 24");
  EXPECT_EQ(error_of_override("generic_int8", "edges", "{bits: 8, bits: 4}"),
            "platforms/generic_int8.yaml:1: edges.bits: the key is given twice, before in line 1");
}

TEST(Platform, WhatIsNoYamlIsSaidInOurWords) {
  EXPECT_EQ(error_with("share_scales: [concat]", "share_scales: [concat"),
            "p.yaml:21: column 12: found what is no YAML, expected keys, values and brackets that end");
  EXPECT_EQ(error_with("edges: {bits: 8}", "[a, b]: 8"), "p.yaml:16: record: found a key that is no text");
  EXPECT_EQ(error_with("edges: {bits: 8}", "edges: 8"), "p.yaml:16: edges: found no mapping, expected keys and values");
  EXPECT_EQ(error_with("edges: {bits: 8}", "edges: {bits: [8]}"),
            "p.yaml:16: edges.bits: found a list, expected a whole number");
  EXPECT_EQ(error_with("share_scales: [concat]", "share_scales:"),
            "p.yaml:21: share_scales: found nothing, expected a list of names");
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
            file + "share_scales: found 'concatt', expected an operator, did you mean 'concat'?");
  for (const std::string op : {"softmax", "relu", "conv2d", "flatten"}) {
    EXPECT_EQ(error_of_override("generic_int8", "share_scales", "[" + op + "]"),
              file + "share_scales: found " + op + ", expected operators that several values of codes go into");
  }
  EXPECT_EQ(load_platform("generic_int8", {{"share_scales", "[concat, add, mul]"}}).share_scales.size(), 3U);

  const std::string fbgemm = "platforms/pytorch_fbgemm.yaml:1: ";
  const std::string expected = ", expected operators on codes whose result has a scale of its own";
  const std::map<std::string, std::string> refused = {{"softmax", ""},
                                                      {"relu", ", did you mean 'celu'?"},
                                                      {"concat", ""},
                                                      {"max_pool2d", ", did you mean 'avg_pool2d'?"}};
  for (const auto& [op, hint] : refused)
    EXPECT_EQ(error_of_override("pytorch_fbgemm", "keep_scales", "[" + op + "]"),
              fbgemm + "keep_scales: found " + op + expected + hint);
  EXPECT_EQ(load_platform("pytorch_fbgemm", {{"keep_scales", "[add, conv2d, sigmoid]"}}).keep_scales.size(), 3U);
}

TEST(Platform, ALegalRuleIsForAnOperatorOrAKind) {
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {features: [8], reason: why}"),
            "p.yaml:24: legal[0].reason: expected either op or trait");
  EXPECT_EQ(error_with("legal: []", "legal:\n  - {op: add, trait: accumulates, reason: why}"),
            "p.yaml:24: legal[0].op: expected either op or trait");
}

}  // namespace
}  // namespace halfstep::quant
