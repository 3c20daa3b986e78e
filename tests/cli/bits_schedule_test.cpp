// From float to few bits in one command, in stages.
#include <gtest/gtest.h>

#include <csignal>

#include "halfstep/api/errors.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

struct Run {
  std::string epochs = "2", seed = "5", stages = "float,8,4";
};

std::vector<std::string> train(const std::string& out, const std::vector<std::string>& more = {}, const Run& run = {}) {
  std::vector<std::string> arguments = {"train",    "--epochs",   run.epochs,  "--seed", run.seed, "--bits-schedule",
                                        run.stages, "--platform", "magik_t40", "--json", "--out",  out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class BitsSchedule : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    straight = workspace->expect(0, train("straight")).json();
  }
  static void TearDownTestSuite() { delete workspace; }

  /// Bit width of every quantizer, by the name of the quantized value.
  static std::map<std::string, int> bits(const std::string& model) {
    std::map<std::string, int> bit_widths;
    const Model loaded = load_model(*workspace / model);
    for (const auto& quantizer : loaded.graph.all<ops::FakeQuantize>())
      bit_widths[quantizer.x().name()] = quant::bits_of(quantizer);
    return bit_widths;
  }

  static inline Workspace* workspace = nullptr;
  static inline nlohmann::json straight;
};

TEST_F(BitsSchedule, EveryStageIsReportedAndLeavesItsNetwork) {
  ASSERT_EQ(straight["stages"].size(), 2U);
  EXPECT_EQ(straight["stages"][0]["bits"], "float");
  EXPECT_EQ(straight["stages"][1]["bits"], "8 bits");
  EXPECT_EQ(straight["bits"], "4 bits");
  const auto digest_of = [&](const std::string& model) { return digest_hex(load_model(*workspace / model)); };
  EXPECT_EQ(digest_of("straight/1-float/model.safetensors"), straight["stages"][0]["digest"]);
  EXPECT_EQ(digest_of("straight/2-w8f8/model.safetensors"), straight["stages"][1]["digest"]);
  EXPECT_EQ(digest_of("straight/3-w4f4/model.safetensors"), straight["digest"]);
  EXPECT_EQ(digest_of("straight/model.safetensors"), straight["digest"]);
}

TEST_F(BitsSchedule, TheEndsOfTheNetworkKeepTheirBitWidths) {
  const auto wide = bits("straight/2-w8f8/model.safetensors"), narrow = bits("straight/model.safetensors");
  std::set<std::string> kept;
  for (const auto& [value, width] : wide) {
    EXPECT_EQ(width, 8) << value;
    EXPECT_TRUE(narrow.at(value) == 4 || narrow.at(value) == 8) << value;
    if (narrow.at(value) == 8) kept.insert(value);
  }
  EXPECT_EQ(kept, (std::set<std::string>{"x", "conv1.w", "mean", "head.w", "head"}));
}

TEST_F(BitsSchedule, ItsBitWidthsAreThoseOfANetworkThatIsPreparedSo) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{},
        {"--overrides", "first_and_last.first=3", "--overrides", "first_and_last.last=3"},
        {"--first-last-bits", "4"}}) {
    std::vector<std::string> quantize = {"quantize",
                                         "straight/1-float/model.safetensors",
                                         "--platform",
                                         "magik_t40",
                                         "--weight-bits",
                                         "4",
                                         "--activation-bits",
                                         "4",
                                         "--out",
                                         "direct",
                                         "--overwrite"};
    std::vector<std::string> schedule = {"train",           "straight/1-float/model.safetensors",
                                         "--bits-schedule", "8,4",
                                         "--platform",      "magik_t40",
                                         "--epochs",        "1",
                                         "--out",           "again",
                                         "--overwrite"};
    for (auto* command : {&quantize, &schedule}) command->insert(command->end(), more.begin(), more.end());
    workspace->expect(0, quantize);
    workspace->expect(0, schedule);
    EXPECT_EQ(bits("again/model.safetensors"), bits("direct"));
  }
}

TEST_F(BitsSchedule, AfterKillInAnyStageItEndsAtTheSameBytes) {
  const std::vector<std::string> moments = {"1-float/checkpoint_0001.safetensors", "2-w8f8/checkpoint_0001.safetensors",
                                            "3-w4f4/checkpoint_0001.safetensors"};
  for (size_t i = 0; i < moments.size(); ++i) {
    const std::string out = "killed" + std::to_string(i);
    const auto killed = workspace->run_until(train(out, {"--threads", "2"}), out + "/" + moments[i], SIGKILL);
    EXPECT_EQ(killed.code, -SIGKILL);
    EXPECT_FALSE(workspace->has(out + "/model.safetensors"));
    const auto report = workspace->expect(0, train(out, {"--resume", "--threads", "1"})).json();
    EXPECT_EQ(report["digest"], straight["digest"]);
    for (const char* stage : {"1-float", "2-w8f8", "3-w4f4"}) {
      const auto file = std::string("/") + stage + "/model.safetensors";
      EXPECT_EQ(test::read_text(*workspace / (out + file)), test::read_text(*workspace / ("straight" + file)));
    }
  }
}

TEST_F(BitsSchedule, AFinishedRunSaysSoAndAnotherIsRefusedOrTakesItsPlace) {
  EXPECT_EQ(workspace->expect(0, train("straight", {"--resume"})).json()["was_finished"], true);
  EXPECT_TRUE(test::mentions(workspace->errors(2, train("straight")), "model.safetensors"));
  workspace->expect(0, train("other"));
  const auto replaced = workspace->expect(0, train("other", {"--overwrite"}, {.seed = "6"})).json();
  EXPECT_NE(replaced["digest"], straight["digest"]);
  EXPECT_EQ(workspace->expect(0, train("other", {"--resume"}, {.seed = "6"})).json()["digest"], replaced["digest"]);
}

TEST_F(BitsSchedule, LaterStagesOfAnEarlierRunAreNotTakenForThisOnes) {
  workspace->expect(0, train("replaced"));
  const auto killed = workspace->run_until(train("replaced", {"--overwrite"}, {.epochs = "3"}),
                                           "replaced/2-w8f8/checkpoint_0003.safetensors", SIGKILL);
  if (killed.code == -SIGKILL) workspace->expect(0, train("replaced", {"--resume"}, {.epochs = "3"}));
  const auto fresh = workspace->expect(0, train("fresh", {}, {.epochs = "3"})).json();
  EXPECT_EQ(digest_hex(load_model(*workspace / "replaced/model.safetensors")), fresh["digest"]);
}

TEST_F(BitsSchedule, WhatAStageCannotDoIsRefusedBeforeTheFirstTrains) {
  const auto refused = workspace->errors(3, train("never", {}, {.stages = "8,3,2"}));
  std::set<std::string> found;
  for (const Diagnostic& one : refused) found.insert(one.found);
  EXPECT_EQ(found, (std::set<std::string>{"2 bits", "3 bits"}));
  EXPECT_TRUE(test::mentions(refused, "magik_t40"));
  EXPECT_FALSE(workspace->has("never"));
}

TEST_F(BitsSchedule, WhatMakesNoSenseIsRefused) {
  const std::string prepared = "straight/2-w8f8/model.safetensors";
  const std::vector<std::pair<std::vector<std::string>, Diagnostic>> cases = {
      {{"--bits-schedule", "8,float"}, errors::schedule_with_late_float()},
      {{"--bits-schedule", "8,x"}, errors::wrong_stage_of_schedule("x")},
      {{"--bits-schedule", "17"}, errors::wrong_stage_of_schedule("17")},
      {{"--platform", "magik_t40"}, errors::option_needs_another("train", "--platform", "--bits-schedule")},
      {{"--model", prepared, "--bits-schedule", "8,4", "--overrides", "activations.rate=0.1"},
       errors::wrong_stage("network 'digits'", "a prepared network", "a float network for a platform",
                           "omit the platform")},
      {{"--model", prepared, "--bits-schedule", "float,4"},
       errors::wrong_stage("network 'digits'", "a prepared network", "a float network for a stage in float",
                           "start from the float network")},
      {{"--ema", "1"}, errors::number_out_of_range("train: --ema", 1, "at least 0 and below 1")}};
  for (const auto& [arguments, expected] : cases) {
    std::vector<std::string> command = {"train", "--out", "never"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(workspace->error(2, command), expected);
    EXPECT_FALSE(workspace->has("never"));
  }
}

}  // namespace
}  // namespace halfstep
