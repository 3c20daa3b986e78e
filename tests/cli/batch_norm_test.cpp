// Batch norms in training on the command line: folded, frozen or live. Each form converts to bit-identical integers.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

class BatchNorm : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    workspace->expect(0, {"train", "--epochs", "1", "--out", "float"});
  }
  static void TearDownTestSuite() { delete workspace; }

  static nlohmann::json quantize(const std::string& form) {
    return workspace
        ->expect(0, {"quantize", "float/model.safetensors", "--activation-bits", "4", "--weight-bits", "4",
                     "--batch-norm", form, "--json", "--overwrite", "--out", form})
        .json();
  }
  static std::vector<std::string> train(const std::string& form, const std::string& out,
                                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"train", form, "--epochs", "3", "--json", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static inline Workspace* workspace = nullptr;
};

TEST_F(BatchNorm, IntegersAreTheNetworkThatWasTrained) {
  std::set<std::string> digests;
  for (const std::string form : {"folded", "frozen", "live"}) {
    const nlohmann::json report = quantize(form)["batch_norms"];
    EXPECT_EQ(report["folded"], 5);
    EXPECT_EQ(report["training"], form);
    EXPECT_GT(report["difference"], 0.0);
    EXPECT_LT(report["difference"], 1e-6);
    const nlohmann::json trained = workspace->expect(0, train(form, form + ".run", {"--overwrite"})).json();
    EXPECT_GT(trained["accuracy"], 0.9) << form;
    digests.insert(trained["digest"]);
    workspace->expect(0, {"convert", form + ".run/model.safetensors", "--out", form + ".integer"});
    workspace->expect(0, {"verify", form + ".run/model.safetensors", form + ".integer"});
  }
  EXPECT_EQ(digests.size(), 3U);
}

TEST_F(BatchNorm, LiveStatisticsGoOnWhereTheyStopped) {
  quantize("live");
  const nlohmann::json straight = workspace->expect(0, train("live", "straight")).json();
  const auto killed = workspace->run_until(train("live", "killed"), "killed/checkpoint_0001.safetensors", SIGKILL);
  EXPECT_EQ(killed.code, -SIGKILL);
  EXPECT_EQ(workspace->expect(0, train("live", "killed", {"--resume"})).json()["digest"], straight["digest"]);
}

TEST_F(BatchNorm, ACheckpointIsTheNetworkOfItsEpoch) {
  for (const std::string form : {"folded", "frozen", "live"}) {
    quantize(form);
    const std::string out = form + ".epochs";
    const int best = workspace->expect(0, train(form, out)).json()["validation"]["best_epoch"];
    ASSERT_GT(best, 0) << form;
    const std::string checkpoint = out + "/checkpoint_000" + std::to_string(best) + ".safetensors";
    const nlohmann::json found = workspace->expect(0, {"eval", checkpoint, "--json"}).json();
    const nlohmann::json expected = workspace->expect(0, {"eval", out + "/model.safetensors", "--json"}).json();
    EXPECT_EQ(found["accuracy"], expected["accuracy"]) << form;
    EXPECT_EQ(found["loss"], expected["loss"]) << form;
  }
}

TEST_F(BatchNorm, WhatHasNoneIsRefused) {
  test::write_text(*workspace / "linear.ir", test::linear_network("none"));
  const auto refused =
      workspace->expect(2, {"quantize", "linear.ir", "--data", "rows.csv", "--batch-norm", "live", "--out", "never"});
  EXPECT_EQ(refused.out, "");
  workspace->expect(2, {"quantize", "float/model.safetensors", "--batch-norm", "dead", "--out", "never"});
  EXPECT_FALSE(workspace->has("never"));
}

}  // namespace
}  // namespace halfstep
