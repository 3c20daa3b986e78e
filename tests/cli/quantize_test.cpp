// quantize through the program: what its options ask for is in the audit.
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

std::map<std::string, nlohmann::json> audit_of(Workspace& workspace, std::vector<std::string> options) {
  std::vector<std::string> command = {"quantize", "float/model.safetensors", "--out", "prepared", "--json"};
  command.insert(command.end(), options.begin(), options.end());
  std::map<std::string, nlohmann::json> rows;
  const nlohmann::json report = workspace.expect(0, command).json();
  for (const auto& row : report["audit"]) rows[row["layer"]] = row;
  return rows;
}

bool says(const nlohmann::json& row, const std::string& port, const std::string& bits) {
  return row[port].get<std::string>().starts_with(bits);
}

TEST(Quantize, widths_reach_every_layer) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  const auto plain = audit_of(workspace, {});
  for (const auto& [layer, row] : plain) EXPECT_TRUE(says(row, "weight", "8 bits")) << row;
  const auto asked = audit_of(workspace, {"--weights", "4", "--features", "6", "--edges", "7"});
  EXPECT_TRUE(says(asked.at("conv1"), "weight", "7 bits")) << asked.at("conv1");
  EXPECT_TRUE(says(asked.at("conv3"), "weight", "4 bits")) << asked.at("conv3");
  EXPECT_TRUE(says(asked.at("conv3"), "input", "6 bits")) << asked.at("conv3");
  EXPECT_TRUE(says(asked.at("head"), "weight", "7 bits")) << asked.at("head");
  const auto one = audit_of(workspace, {"--bits", "conv3=3/", "--weights", "5"});
  EXPECT_TRUE(says(one.at("conv3"), "weight", "3 bits")) << one.at("conv3");
  EXPECT_TRUE(says(one.at("conv4"), "weight", "5 bits")) << one.at("conv4");
}

/// The model first, by position, and numbers as people write them.
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
