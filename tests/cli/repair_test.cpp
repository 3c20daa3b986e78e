// quantize --repair on the command line: its output, and a repair that is killed.
#include <gtest/gtest.h>

#include <csignal>

#include "halfstep/api/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep::test {
namespace {

std::vector<std::string> repair(const std::string& method, const std::string& out,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {
      "quantize", "float/model.safetensors", "--weight-bits", "3", "--repair", method, "--repair-steps", "60", "--out",
      out};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Repair, a_killed_one_goes_on_to_the_same_bytes) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(0, repair("adaround", "straight"));
  EXPECT_FALSE(workspace.has("straight.repair"));
  const auto killed =
      workspace.run_until(repair("adaround", "killed"), "killed.repair/adaround_0001.block.safetensors", SIGKILL);
  EXPECT_EQ(killed.code, -SIGKILL);
  EXPECT_FALSE(workspace.has("killed"));
  EXPECT_TRUE(mentions(workspace.errors(2, repair("adaround", "killed")), "killed.repair"));
  workspace.expect(0, repair("adaround", "killed", {"--resume", "--threads", "1"}));
  EXPECT_EQ(read_text(workspace / "killed"), read_text(workspace / "straight"));
  EXPECT_FALSE(workspace.has("killed.repair"));
}

TEST(Repair, says_what_it_did_and_repairs_what_is_prepared) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  const auto report = workspace.expect(0, repair("batchnorm,bias", "a", {"--json"})).json()["repair"];
  EXPECT_EQ(report["steps"].size(), 2U);
  EXPECT_EQ(report["steps"][0]["method"], "batchnorm");
  EXPECT_LE(report["after"]["distance"], report["before"]["distance"]);
  EXPECT_TRUE(report["after"].contains("accuracy"));
  const auto text = workspace.expect(0, {"quantize", "a", "--repair", "bias", "--out", "b"}).out;
  EXPECT_NE(text.find("samples, judged on"), std::string::npos) << text;
  EXPECT_EQ(workspace.error(2, {"quantize", "a", "--resume", "--out", "c"}),
            errors::nothing_to_resume("no --repair", "the one to resume"));
}

}  // namespace
}  // namespace halfstep::test
