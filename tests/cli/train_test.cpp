// What training says at its end.
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

TEST(Train, says_how_long_its_steps_take) {
  Workspace workspace;
  const auto report = workspace.expect(0, {"train", "--epochs", "1", "--json", "--out", "run"}).json();
  EXPECT_GT(report["step_milliseconds"], 0.0);
  EXPECT_FALSE(report.contains("operators"));
  const auto again = workspace.expect(0, {"train", "--epochs", "1", "--json", "--out", "run", "--resume"}).json();
  EXPECT_EQ(again["step_milliseconds"], 0.0) << "no step was left to run";
}

TEST(Train, profile_names_the_operators) {
  Workspace workspace;
  const auto report = workspace.expect(0, {"train", "--epochs", "1", "--profile", "--json", "--out", "run"}).json();
  double last = 1e9;
  std::map<std::string, double> calls;
  for (const auto& time : report["operators"]) {
    EXPECT_LE(time["milliseconds"], last);
    last = time["milliseconds"];
    calls[time["operator"]] += time["calls"].get<double>();
  }
  EXPECT_EQ(calls["softmax_cross_entropy"], 1.0);
  EXPECT_GE(calls["sgd_momentum"], 2.0);
  const auto text = workspace.expect(0, {"train", "--epochs", "1", "--profile", "--out", "run"});
  EXPECT_NE(text.out.find(" ms a step, digest"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("operator"), std::string::npos) << text.out;
}

/// Learned scales leave observers behind that no step has, and channels have rates of their own.
TEST(Train, resumes_learned_scales_to_the_same_bits) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(0,
                   {"quantize", "float/model.safetensors", "--weights", "4", "--features", "4", "--out", "prepared"});
  const std::vector<std::string> train = {"train", "--model", "prepared", "--epochs", "2", "--json", "--out", "run"};
  const auto whole = workspace.expect(0, train).json();
  std::filesystem::remove(workspace / "run/model.safetensors");
  std::filesystem::remove(workspace / "run/checkpoint_0002.safetensors");
  std::vector<std::string> resume = train;
  resume.push_back("--resume");
  const auto resumed = workspace.expect(0, resume).json();
  EXPECT_EQ(resumed["first_epoch"], 1);
  EXPECT_EQ(resumed["digest"], whole["digest"]);
  EXPECT_EQ(workspace.expect(0, resume).json()["was_finished"], true);
}

}  // namespace
}  // namespace halfstep
