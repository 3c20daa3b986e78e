// Files for the tools of a chip, from the command line.
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

TEST(Deploy, WritesWhatThePlatformNames) {
  test::Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(0, {"quantize", "float/model.safetensors", "--platform", "tensorrt", "--out", "prepared"});
  const std::vector<std::string> command = {"export", "prepared", "--format", "deploy", "--out", "files"};
  EXPECT_EQ(workspace.expect(0, command).out, "wrote files/digits.onnx\nwrote files/digits_clip_ranges.json\n");
  const auto ranges = nlohmann::json::parse(test::read_text(workspace / "files/digits_clip_ranges.json"));
  EXPECT_GT(ranges["tensorrt"]["blob_range"].size(), 4U);
  const auto before = test::listing(workspace / "files");
  EXPECT_NE(workspace.expect(2, command).err.find("is there already; name another folder, or replace it (--overwrite)"),
            std::string::npos);
  auto again = command;
  again.insert(again.end(), {"--overwrite", "--json"});
  EXPECT_EQ(workspace.expect(0, again).json()["files"].size(), 2U);
  EXPECT_EQ(test::listing(workspace / "files"), before);
}

TEST(Deploy, IsRefusedWhereThereIsNothingToWrite) {
  test::Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(2, {"export", "float/model.safetensors", "--format", "deploy", "--out", "files"});
  workspace.expect(0, {"quantize", "float/model.safetensors", "--out", "prepared"});
  const auto refused = workspace.expect(2, {"export", "prepared", "--format", "deploy", "--out", "files"});
  EXPECT_NE(refused.err.find("platform generic_int8: its tools have no files of their own"), std::string::npos);
  EXPECT_FALSE(workspace.has("files"));
}

}  // namespace
}  // namespace halfstep
