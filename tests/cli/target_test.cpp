// A network that breaks four rules of a chip. `inspect` names all four with remedies, and the remedies lead to verified
// integers.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

constexpr int kUnsupported = 3;

/// Channels that are not multiples of 32, a table, and a hardmax, which has neither codes nor a gradient.
constexpr const char* kFour = R"(graph four(x: f32[?, 1, 8, 8]) {
  param @conv1.w: f32[16, 1, 3, 3]
  param @conv2.w: f32[24, 16, 3, 3]
  param @dw.w: f32[24, 1, 3, 3]
  param @conv3.w: f32[40, 24, 1, 1]
  param @conv3.b: f32[40]
  param @head.w: f32[10, 40]
  param @head.b: f32[10]
  conv1 = conv2d(x, w=@conv1.w) {pad: [1, 1, 1, 1]}
  r1 = relu(conv1)
  conv2 = conv2d(r1, w=@conv2.w) {pad: [1, 1, 1, 1]}
  r2 = relu(conv2)
  dw = conv2d(r2, w=@dw.w) {groups: 24, pad: [1, 1, 1, 1]}
  gate = sigmoid(dw)
  gated = mul(dw, b=gate)
  share = hardmax(r2) {axis: 1}
  attended = mul(gated, b=share)
  conv3 = conv2d(attended, w=@conv3.w, b=@conv3.b)
  r3 = relu(conv3)
  pool = global_avg_pool(r3)
  flat = flatten(pool)
  head = linear(flat, w=@head.w, b=@head.b)
  return head
}
)";

class Target : public testing::Test {
 protected:
  void SetUp() override {
    test::write_text(workspace_ / "four.ir", kFour);
    workspace_.expect(0, {"train", "--network", "digits", "--epochs", "1", "--out", "digits"});
  }

  Workspace workspace_;
};

std::vector<std::string> texts(const nlohmann::json& objections, const std::string& key) {
  std::vector<std::string> all;
  for (const auto& one : objections) all.push_back(one[key]);
  return all;
}

TEST_F(Target, four_broken_rules_are_said_at_once_and_their_remedies_lead_to_integers) {
  const std::vector<std::string> target = {"--platform", "magik_t40", "--activation-bits", "10"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), target.begin(), target.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto report = workspace_.expect(kUnsupported, with({"inspect", "four.ir", "--json"}, {})).json()["target"];
  EXPECT_FALSE(report["holds"]);
  using Words = std::vector<std::string>;
  EXPECT_EQ(texts(report["objections"], "layer"), (Words{"conv2", "dw", "gated", "conv3", "", "share"}));
  EXPECT_EQ(texts(report["objections"], "verb"),
            (Words{"quantize", "quantize", "quantize", "quantize", "convert", "train"}));
  for (const std::string& remedy : texts(report["objections"], "remedy")) EXPECT_NE(remedy, "");
  const std::string text = workspace_.expect(kUnsupported, with({"inspect", "four.ir"}, {})).out;
  for (const char* part :
       {"needs channels in multiples of 32 above 12: found 16 in and 24 out", "(--pad-channels)",
        "activations on magik_t40: found 10 bits, expected 4, 8 (tables of sigmoid and silu have 4- or 8-bit codes)",
        "(--skip-layers NAME)", "1 operator (hardmax 'share') cannot become integers", "(--float-fallback)",
        "hardmax has no gradient: its result does not change with x", "so layers before it cannot be trained",
        "quickstart --tune-epochs 0"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;

  const Words remedies = {"--pad-channels", "--skip-layers", "gate*"};
  const auto left =
      workspace_.expect(kUnsupported, with({"inspect", "four.ir", "--json", "--float-fallback"}, remedies))
          .json()["target"];
  EXPECT_EQ(texts(left["objections"], "verb"), Words{"train"});
  EXPECT_EQ(left["padded"], (Words{"conv1", "conv2", "dw", "conv3"}));
}

TEST_F(Target, what_inspect_says_the_verbs_say) {
  const auto refused =
      workspace_.errors(kUnsupported, {"quantize", "digits/model.safetensors", "--platform", "magik_t40",
                                       "--activation-bits", "9", "--weight-bits", "5", "--out", "new"});
  const auto report = workspace_.expect(kUnsupported, {"inspect", "digits/model.safetensors", "--platform", "magik_t40",
                                                       "--activation-bits", "9", "--weight-bits", "5", "--json"});
  for (const std::string& part : texts(report.json()["target"]["objections"], "problem"))
    EXPECT_TRUE(test::mentions(refused, part)) << part;
  EXPECT_FALSE(workspace_.has("new"));
}

TEST_F(Target, a_network_that_fits_is_said_to) {
  const auto outcome = workspace_.expect(0, {"inspect", "digits/model.safetensors", "--platform", "generic_int8"});
  EXPECT_NE(outcome.out.find("quantize, convert and train accept the network"), std::string::npos) << outcome.out;
  workspace_.expect(0, {"quantize", "digits/model.safetensors", "--out", "prepared"});
  workspace_.expect(0, {"inspect", "prepared", "--platform", "generic_int8"});
  EXPECT_EQ(workspace_.error(2, {"inspect", "prepared", "--platform", "magik_t40"}),
            errors::prepared_for_other_platform("digits", "generic_int8", "magik_t40"));
}

TEST_F(Target, padded_networks_become_verified_integers) {
  workspace_.expect(0, {"inspect", "four.ir"});
  workspace_.expect(0, {"quickstart", "--model", "digits/model.safetensors", "--platform", "magik_t40", "--overrides",
                        "channels.multiple=48", "--overrides", "channels.above=1", "--pad-channels", "--tune-epochs",
                        "1", "--out", "quick"});
  const auto inspected = workspace_.expect(0, {"inspect", "quick/integer.safetensors"}).out;
  EXPECT_NE(inspected.find("i8[96, 96, 3, 3]"), std::string::npos) << inspected;
  const auto report = workspace_
                          .expect(0, {"quantize", "digits/model.safetensors", "--platform", "magik_t40", "--overrides",
                                      "channels.multiple=48", "--overrides", "channels.above=1", "--pad-channels",
                                      "--skip-layers", "conv3", "--out", "prepared", "--json"})
                          .json();
  EXPECT_FALSE(report["padded"].empty());
  EXPECT_EQ(report["float"][0]["tensor"], "conv3");
  workspace_.expect(kUnsupported, {"convert", "prepared", "--out", "integer"});
  workspace_.expect(0, {"convert", "prepared", "--float-fallback", "--out", "integer"});
  workspace_.expect(0, {"verify", "prepared", "integer"});
}

}  // namespace
}  // namespace halfstep
