// Files for the tools of a chip, on the command line.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"

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
  EXPECT_EQ(workspace.error(2, command).entry, &errors::file_not_replaced_entry);
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
  const Diagnostic refused = workspace.error(2, {"export", "prepared", "--format", "deploy", "--out", "files"});
  EXPECT_EQ(refused.entry, &errors::platform_without_files_entry);
  EXPECT_EQ(refused.where, "platform generic_int8");
  EXPECT_FALSE(workspace.has("files"));
}

}  // namespace
}  // namespace halfstep
