// The final report of training.
#include <gtest/gtest.h>

#include "tests/cli/program.h"
#include "tests/support/mentions.h"

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

TEST(Train, a_loss_is_named_on_the_command_line) {
  Workspace workspace;
  const std::vector<std::string> train = {
      "train",  "--data", "digits", "--epochs", "1", "--loss", "cross_entropy(label_smoothing=0.1) * 2",
      "--json", "--out",  "run"};
  const auto report = workspace.expect(0, train).json();
  EXPECT_GT(report["accuracy"], 0.5);
  EXPECT_GT(report["tested_loss"], 0.0);
  const auto text = workspace.expect(0, {"train", "--data", "digits", "--epochs", "1", "--loss",
                                         "cross_entropy(label_smoothing=0.1) * 2", "--out", "run", "--resume"});
  EXPECT_NE(text.out.find("nothing changed"), std::string::npos) << text.out;
  workspace.expect(2, {"train", "--data", "digits", "--epochs", "1", "--loss", "mse", "--out", "run", "--resume"});
  workspace.expect(2, {"train", "--data", "digits", "--epochs", "1", "--loss", "mze", "--out", "other"});
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
  const auto text = workspace.expect(0, {"train", "--epochs", "1", "--profile", "--out", "run", "--overwrite"});
  EXPECT_NE(text.out.find(" ms per step, digest"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("operator"), std::string::npos) << text.out;
}

/// With learned scales some observers never run, and channels have learning rates of their own.
TEST(Train, resumes_learned_scales_to_the_same_bits) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(
      0, {"quantize", "float/model.safetensors", "--weight-bits", "4", "--activation-bits", "4", "--out", "prepared"});
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

/// Files contain a clip for relu6. A clip has no gradient.
TEST(Train, goes_on_from_a_float_network_in_a_file) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(0, {"export", "float/model.safetensors", "--out", "float.onnx"});
  const auto report = workspace.expect(0, {"train", "float.onnx", "--epochs", "1", "--out", "on", "--json"}).json();
  EXPECT_GT(report["accuracy"], 0.95);
}

/// The initial network is evaluated on samples that training does not use.
TEST(Train, says_how_a_given_network_did) {
  Workspace workspace;
  const auto fresh = workspace.expect(0, {"train", "--epochs", "1", "--out", "float", "--json"}).json();
  EXPECT_FALSE(fresh.contains("validation")) << "a fresh network learns from all samples";
  workspace.expect(
      0, {"quantize", "float/model.safetensors", "--weight-bits", "4", "--activation-bits", "4", "--out", "prepared"});
  const auto done = workspace.expect(
      0, {"train", "--model", "prepared", "--distill", "--epochs", "2", "--learning-rate", "0.01", "--out", "good"});
  EXPECT_NE(done.out.find("on 143 validation samples: agreement "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("after epoch 2, which was kept\n"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("the last epoch is worse"), std::string::npos) << done.out;
  EXPECT_NE(done.err.find("validation: 100 %  at the start: agreement "), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("validation: 100 %  after epoch 2: agreement "), std::string::npos) << done.err;
}

/// A teacher for a quantized network and for a float network. An unusable file is refused before any work.
TEST(Train, learns_from_a_teacher) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "4", "--out", "wise"});
  workspace.expect(0, {"train", "--epochs", "1", "--seed", "5", "--out", "float"});
  const std::string teacher = "wise/model.safetensors", start = "float/model.safetensors";
  workspace.expect(0, {"quantize", start, "--weight-bits", "4", "--activation-bits", "4", "--out", "prepared"});
  for (const std::string& model : {start, std::string("prepared")}) {
    const auto done = workspace.expect(0, {"train", model, "--teacher", teacher, "--distill", "--epochs", "2",
                                           "--learning-rate", "0.02", "--overwrite", "--out", "alone"});
    EXPECT_NE(done.out.find("validation samples: agreement "), std::string::npos) << done.out;
    EXPECT_NE(done.out.find(", which was kept\n"), std::string::npos) << done.out;
    const auto both =
        workspace.expect(0, {"train", model, "--teacher", teacher, "--epochs", "1", "--overwrite", "--out", "both"});
    EXPECT_NE(both.out.find("on 143 validation samples: accuracy "), std::string::npos) << both.out;
    EXPECT_NE(both.out.find("teacher on the same samples: accuracy "), std::string::npos) << both.out;
  }
  workspace.expect(2,
                   {"train", "prepared", "--epochs", "1", "--resume", "--out", "both"});  // the first run had a teacher
  workspace.expect(0, {"train", "--epochs", "1", "--scale", "0.5", "--out", "other"});
  const auto refused =
      workspace.errors(2, {"train", "prepared", "--teacher", "other/model.safetensors", "--out", "bad"});
  for (const char* value : {"'digits'", "{\"scale\":0.5"}) EXPECT_TRUE(test::mentions(refused, value)) << value;
  EXPECT_FALSE(std::filesystem::exists(workspace / "bad"));
}

/// The learning rate ruins every network. The run writes the initial network and reports this.
TEST(Train, gives_back_a_network_that_it_would_have_ruined) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "float"});
  workspace.expect(0, {"quantize", "float/model.safetensors", "--out", "prepared"});
  const std::vector<std::string> train = {"train", "--model",         "prepared", "--distill", "--epochs",
                                          "1",     "--learning-rate", "20",       "--out",     "bad"};
  const auto done = workspace.expect(0, train);
  EXPECT_NE(done.out.find("no epoch improved the validation result: the initial model was kept\nthe last epoch is "
                          "worse than the initial model: "),
            std::string::npos)
      << done.out;
  auto again = train;
  again.insert(again.end(), {"--resume", "--json"});
  const auto report = workspace.expect(0, again).json();
  EXPECT_TRUE(report["was_finished"]);
  EXPECT_TRUE(report["validation"]["ended_below"]);
  EXPECT_EQ(report["validation"]["best_epoch"], 0);
  EXPECT_EQ(report["validation"]["results"].size(), 2U);
  const auto eval = [&](const std::string& model) {
    return workspace.expect(0, {"eval", "--model", model, "--json"}).json();
  };
  EXPECT_EQ(eval("bad/model.safetensors")["accuracy"], eval("prepared")["accuracy"]);
}

/// Files of others whose names happen to end like our temporaries are left alone.
TEST(Train, leaves_files_of_others_alone) {
  Workspace workspace;
  std::filesystem::create_directories(workspace / "run");
  test::write_text(workspace / "run/notes.tmp", "mine");
  workspace.expect(0, {"train", "--epochs", "1", "--out", "run"});
  EXPECT_EQ(test::read_text(workspace / "run/notes.tmp"), "mine");
}

}  // namespace
}  // namespace halfstep
