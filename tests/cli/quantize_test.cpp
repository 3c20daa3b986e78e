// `halfstep quantize` on the command line: the audit shows the effect of its options.
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

/// Bit widths by tensor.
std::map<std::string, int> bits_of(Workspace& workspace, std::vector<std::string> options) {
  std::vector<std::string> command = {"quantize", "float/model.safetensors", "--out", "prepared", "--overwrite",
                                      "--json"};
  command.insert(command.end(), options.begin(), options.end());
  std::map<std::string, int> bits;
  const nlohmann::json report = workspace.expect(0, command).json();
  for (const auto& row : report["quantizers"]) bits[row["tensor"]] = row["bits"];
  return bits;
}

TEST(Quantize, bit_widths_reach_every_layer) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  for (const auto& [tensor, bits] : bits_of(workspace, {})) EXPECT_EQ(bits, 8) << tensor;
  const auto asked = bits_of(workspace, {"--weight-bits", "4", "--activation-bits", "6", "--first-last-bits", "7"});
  EXPECT_EQ(asked.at("conv1.w"), 7);
  EXPECT_EQ(asked.at("conv3.w"), 4);
  EXPECT_EQ(asked.at("relu2"), 6);  // input of conv3
  EXPECT_EQ(asked.at("head.w"), 7);
  const auto one = bits_of(workspace, {"--bits", "conv3=3/", "--weight-bits", "5"});
  EXPECT_EQ(one.at("conv3.w"), 3);
  EXPECT_EQ(one.at("conv4.w"), 5);
}

TEST(Quantize, inspect_says_it_again_and_why) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(0, {"quantize", "float/model.safetensors", "--out", "prepared"});
  const nlohmann::json all = workspace.expect(0, {"inspect", "prepared", "--audit", "--json"}).json();
  EXPECT_EQ(all["platform"], "generic_int8");
  EXPECT_FALSE(all["quantizers"].empty());
  const nlohmann::json one = workspace.expect(0, {"inspect", "prepared", "--why", "relu2", "--json"}).json();
  EXPECT_EQ(one["tensor"], "relu2");
  EXPECT_EQ(one["quantizers"][0]["observer"], "ema_minmax");
  const std::string text = workspace.expect(0, {"inspect", "prepared", "--why", "conv3.w"}).out;
  EXPECT_NE(text.find("weight, quantized: weight of conv2d 'conv3'"), std::string::npos) << text;
  workspace.expect(2, {"inspect", "prepared", "--why", "conv99"});
  workspace.expect(2, {"inspect", "float/model.safetensors", "--audit"});
}

/// The text report has the numbers, and prints shifts as shifts.
TEST(Quantize, the_audit_is_in_words) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  const auto text = [&](const std::string& platform) {
    return workspace
        .expect(0, {"quantize", "float/model.safetensors", "--platform", platform, "--out", platform + ".prepared"})
        .out;
  };
  const std::string shifts = text("pow2_int8"), factors = text("generic_int8");
  for (const char* part : {"conv2d + relu6", "w8, scale", "a8 0..255", "shift right by "})
    EXPECT_NE(shifts.find(part), std::string::npos) << shifts;
  EXPECT_NE(factors.find("(32 channels)"), std::string::npos) << factors;
  EXPECT_EQ(factors.find("shift right"), std::string::npos) << factors;
}

/// The model comes first, by position, and numbers are written as people write them.
TEST(Quantize, fractions_and_positions) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float", "--scale", "1/16"});
  const auto by_position = workspace.expect(0, {"eval", "float/model.safetensors", "--json"}).json();
  EXPECT_EQ(by_position, workspace.expect(0, {"eval", "--model", "float/model.safetensors", "--json"}).json());
  const auto decimal = workspace.expect(0, {"eval", "float/model.safetensors", "--scale", "0.0625", "--json"}).json();
  EXPECT_EQ(by_position, decimal);
  const auto other = workspace.expect(0, {"eval", "float/model.safetensors", "--scale", "1/1600", "--json"}).json();
  EXPECT_NE(by_position["accuracy"], other["accuracy"]);
  workspace.expect(2, {"eval", "float/model.safetensors", "--scale", "1/0"});
  workspace.expect(2, {"eval", "float/model.safetensors", "--scale", "one"});
}

}  // namespace
}  // namespace halfstep
