// Interrupted and resumed training ends exactly as uninterrupted training does.
#include <gtest/gtest.h>

#include <csignal>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

std::vector<std::string> train(const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train", "--epochs", "6", "--seed", "5", "--json", "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class Resume : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    straight = workspace->expect(0, train("straight")).json();
  }
  static void TearDownTestSuite() { delete workspace; }

  void expect_ends_like_straight(const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--resume"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto report = workspace->expect(0, train(out, arguments)).json();
    EXPECT_EQ(report["digest"], straight["digest"]);
    EXPECT_GT(report["first_epoch"], 0);
    EXPECT_EQ(test::listing(*workspace / out), test::listing(*workspace / "straight"));
  }

  static inline Workspace* workspace = nullptr;
  static inline nlohmann::json straight;
};

TEST_F(Resume, writes_a_checkpoint_every_epoch_and_the_result) {
  std::vector<std::string> names;
  for (const auto& [name, contents] : test::listing(*workspace / "straight")) names.push_back(name);
  const std::vector<std::string> expected = {"checkpoint_0001.safetensors",
                                             "checkpoint_0002.safetensors",
                                             "checkpoint_0003.safetensors",
                                             "checkpoint_0004.safetensors",
                                             "checkpoint_0005.safetensors",
                                             "checkpoint_0006.safetensors",
                                             "model.safetensors"};
  EXPECT_EQ(names, expected);
}

TEST_F(Resume, after_kill_ends_at_the_same_bytes_with_another_number_of_threads) {
  const auto killed =
      workspace->run_until(train("killed", {"--threads", "2"}), "killed/checkpoint_0002.safetensors", SIGKILL);
  EXPECT_EQ(killed.code, -SIGKILL);
  EXPECT_FALSE(workspace->has("killed/model.safetensors"));
  for (const auto& [name, contents] : test::listing(*workspace / "killed")) {
    if (name.starts_with(".halfstep-"))
      std::filesystem::remove(*workspace / "killed" / name);  // only these files may remain
  }
  expect_ends_like_straight("killed", {"--threads", "1"});
}

TEST_F(Resume, after_interrupt_exits_130_and_leaves_the_last_checkpoint_usable) {
  const auto stopped = workspace->run_until(train("stopped"), "stopped/checkpoint_0001.safetensors", SIGINT);
  EXPECT_EQ(stopped.code, 130);
  EXPECT_NE(stopped.err.find(errors::interrupted_entry.id), std::string::npos) << stopped.err;
  for (const auto& [name, contents] : test::listing(*workspace / "stopped"))
    EXPECT_TRUE(name.starts_with("checkpoint_")) << name;
  expect_ends_like_straight("stopped");
}

TEST_F(Resume, of_a_finished_run_says_so_and_changes_nothing) {
  const auto before = test::listing(*workspace / "straight");
  const auto written = std::filesystem::last_write_time(*workspace / "straight/model.safetensors");
  const auto again = workspace->expect(0, {"train", "--epochs", "6", "--seed", "5", "--out", "straight", "--resume"});
  EXPECT_NE(again.out.find("straight: already finished after 6 epochs, nothing changed"), std::string::npos)
      << again.out;
  EXPECT_EQ(test::listing(*workspace / "straight"), before);
  EXPECT_EQ(std::filesystem::last_write_time(*workspace / "straight/model.safetensors"), written);
}

TEST_F(Resume, a_shorter_fresh_run_leaves_no_checkpoint_of_the_longer_one) {
  workspace->expect(0, train("twice"));
  const auto refused = workspace->errors(2, {"train", "--epochs", "2", "--seed", "9", "--out", "twice"});
  for (const char* value : {"twice", "checkpoint_0006.safetensors", "--resume", "--overwrite"})
    EXPECT_TRUE(test::mentions(refused, value)) << value;
  EXPECT_TRUE(workspace->has("twice/checkpoint_0006.safetensors"));
  workspace->expect(0, {"train", "--epochs", "2", "--seed", "9", "--out", "twice", "--overwrite"});
  EXPECT_TRUE(workspace->has("twice/checkpoint_0002.safetensors"));
  EXPECT_FALSE(workspace->has("twice/checkpoint_0003.safetensors"));
  workspace->expect(0, {"train", "--epochs", "2", "--seed", "9", "--out", "twice", "--resume"});
}

TEST_F(Resume, starts_afresh_where_there_is_no_checkpoint) {
  const auto report = workspace->expect(0, train("fresh", {"--resume"})).json();
  EXPECT_EQ(report["first_epoch"], 0);
  EXPECT_EQ(report["digest"], straight["digest"]);
}

/// Data are compared by content: the same samples under another name are accepted, other samples under the same name
/// are not.
TEST_F(Resume, knows_the_data_by_content) {
  const std::vector<std::string> command = {"train", "--network", "digits", "--epochs",
                                            "1",     "--out",     "known",  "--data"};
  const auto with = [&](const std::string& data, const std::string& more) {
    auto arguments = command;
    arguments.push_back(data);
    if (!more.empty()) arguments.push_back(more);
    return arguments;
  };
  const std::string csv = test::small_csv();
  test::write_text(*workspace / "one.csv", csv);
  test::write_text(*workspace / "same.csv", csv);
  workspace->expect(0, with("one.csv", ""));
  const auto same = workspace->expect(0, with("same.csv", "--resume"));
  EXPECT_NE(same.out.find("already finished after 1 epochs"), std::string::npos) << same.out;
  std::string changed = csv;
  for (size_t i = 0; i < changed.size(); ++i) {
    if (i == 0 || changed[i - 1] == '\n') changed[i] = changed[i] == '1' ? '2' : '1';
  }
  test::write_text(*workspace / "one.csv", changed);
  const auto other = workspace->errors(2, with("one.csv", "--resume"));
  for (const char* value : {"known/checkpoint_0001.safetensors", "\"one.csv\""})
    EXPECT_TRUE(test::mentions(other, value)) << value;
}

}  // namespace
}  // namespace halfstep
