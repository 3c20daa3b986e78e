// --config and --print-config: a printed file of options reads back the same, and mistakes in a file are named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/api/commands.h"
#include "halfstep/api/errors.h"
#include "halfstep/core/base/errors.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

class Config : public testing::Test {
 protected:
  void write(const std::string& text) { io::write_file(workspace_ / "run.yaml", text); }

  std::vector<Diagnostic> errors_with_file(const std::string& text) {
    write(text);
    return workspace_.errors(2, {"train", "--out", "never", "--config", "run.yaml"});
  }

  test::Workspace workspace_;
};

TEST_F(Config, what_is_printed_is_read_back) {
  for (const char* verb : {"quickstart", "train", "quantize", "convert", "bits", "analyze", "verify", "export", "dump",
                           "compare", "report", "eval", "run", "inspect", "op", "pass", "fuzz", "data", "platform"}) {
    SCOPED_TRACE(verb);
    const std::string printed = workspace_.expect(0, {verb, "--print-config", "--threads", "3"}).out;
    EXPECT_NE(printed.find("threads: 3  # command line\n"), std::string::npos) << printed;
    write(printed);
    const std::string again = workspace_.expect(0, {verb, "--print-config", "--config", "run.yaml"}).out;
    const auto values = [](const std::string& text) {
      std::string kept;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) kept += line.substr(0, line.find("  # ")) + "\n";
      return kept;
    };
    EXPECT_EQ(values(again), values(printed));
    EXPECT_NE(again.find("threads: 3  # run.yaml\n"), std::string::npos) << again;
  }
}

TEST_F(Config, values_of_every_kind_are_taken) {
  write(
      "epochs: 3\nlearning-rate: 1/4\nmean: [0.5, 1]\nflip: true\npreprocess: unit\nsize: 8x9\n"
      "bits_schedule: [float, 8, 4/8]\noverrides: ['activations.rate=0.1', 'first_and_last.first=8']\nmixup: "
      "0.25\nmodel: null\n");
  const std::string out = workspace_.expect(0, {"train", "--config", "run.yaml", "--print-config"}).out;
  for (const char* line :
       {"epochs: 3  #", "learning_rate: 0.25  #", "mean: [0.5, 1]  #", "flip: true  #", "preprocess: unit  #",
        "size: 8x9  #", "bits_schedule: [float, 8, 4/8]  #",
        "overrides: [activations.rate=0.1, first_and_last.first=8]  #", "mixup: 0.25  #", "model: null  # default"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\n" << out;
}

TEST_F(Config, the_command_line_comes_first_and_says_so) {
  write("epochs: 3\nseed: 7\n");
  const std::string out =
      workspace_.expect(0, {"train", "--config", "run.yaml", "--epochs", "5", "--print-config"}).out;
  EXPECT_NE(out.find("epochs: 5  # command line, over 3 in run.yaml\n"), std::string::npos) << out;
  EXPECT_NE(out.find("seed: 7  # run.yaml\n"), std::string::npos) << out;
}

TEST_F(Config, a_default_in_the_file_is_one_of_its_values) {
  write("epochs: 20\nresume: false\noverwrite: false\n");
  const auto printed = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"train", "--config", "run.yaml", "--print-config"};
    words.insert(words.end(), more.begin(), more.end());
    return workspace_.expect(0, words).out;
  };
  const std::string alone = printed({}), beside = printed({"--epochs", "5", "--resume"});
  EXPECT_NE(alone.find("epochs: 20  # run.yaml\n"), std::string::npos) << alone;
  EXPECT_NE(beside.find("epochs: 5  # command line, over 20 in run.yaml\n"), std::string::npos) << beside;
  EXPECT_NE(beside.find("resume: true  # command line, over false in run.yaml\n"), std::string::npos) << beside;
  EXPECT_EQ(errors_with_file("epochs: 20\nepochs: 30\n").front().entry, &errors::config_of_other_form_entry);
}

TEST_F(Config, what_is_wrong_is_named_all_at_once) {
  using Errors = std::vector<Diagnostic>;
  EXPECT_EQ(errors_with_file("epoch: 3\nseeds: 1\n"),
            (Errors{errors::unknown_option("run.yaml:1", "epoch", ", did you mean 'epochs'?"),
                    errors::unknown_option("run.yaml:2", "seeds", ", did you mean 'seed'?")}));
  EXPECT_EQ(errors_with_file("epochs: many\nbatch: 0\nflip: perhaps\n"),
            (Errors{errors::option_of_other_form("run.yaml:1: epochs", "many", "1 to 1000000"),
                    errors::number_out_of_range("run.yaml:2: batch", 0, "at least 1"),
                    errors::not_a_choice("run.yaml:3: flip", "perhaps", "true or false")}));
  EXPECT_EQ(errors_with_file("epochs: [1, 2]\n"),
            (Errors{errors::option_of_other_form("run.yaml:1: epochs", "1 2", "one value")}));
  EXPECT_EQ(errors_with_file("epochs: {a: 1}\n").front().entry, &errors::config_of_other_form_entry);
  EXPECT_EQ(errors_with_file("epochs: 1\nepochs: 2\n").front().entry, &errors::config_of_other_form_entry);
  EXPECT_EQ(errors_with_file("- epochs\n").front().entry, &errors::config_of_other_form_entry);
  EXPECT_EQ(errors_with_file("epochs: [1\n").front().entry, &errors::config_of_other_form_entry);
  EXPECT_EQ(workspace_.error(2, {"train", "--out", "never", "--config", "none.yaml"}).entry,
            &errors::cannot_be_read_entry);
  EXPECT_EQ(errors_with_file("resume: true\noverwrite: true\n").front(),
            errors::options_exclude_each_other("train", "--resume", "--overwrite"));
}

TEST_F(Config, flags_of_one_letter_are_those_of_the_long_ones) {
  const auto done = workspace_.expect(0, {"train", "-o", "never", "-j", "3", "--bits-schedule", "8", "--print-config"});
  EXPECT_NE(done.out.find("out: never  # command line\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("threads: 3  # command line\n"), std::string::npos) << done.out;
  for (const char* verb : {"quickstart", "quantize", "convert", "export", "dump", "fuzz", "run", "bits", "report"})
    EXPECT_NE(workspace_.expect(0, {verb, "--help"}).out.find("  -o,--"), std::string::npos) << verb;
  const std::string help = workspace_.expect(0, {"quantize", "--help"}).out;
  EXPECT_NE(help.find("--repair {auto,equalize,"), std::string::npos) << help;
}

/// A flag with a value that its option accepts.
std::vector<std::string> flag_with_value(const api::BoundOption& option, const std::string& flag) {
  if (option.is_switch) return {flag};
  const api::OptionEntry& entry = *option.entry;
  if (!entry.choices.empty()) return {flag, api::words_in(entry.choices).front()};
  if (entry.type == "quant::Override") return {flag, "activations.rate=0.1"};
  return {flag, entry.range != nullptr || entry.type == "StageBits" ? "8" : "cpu"};
}

/// Tests every earlier flag of a verb. Returns their number.
template <class Command>
size_t test_earlier_flags(Command command, test::Workspace& workspace) {
  const std::string verb(api::verb_of(command).name);
  const std::vector<api::BoundOption> options = api::options_of(command);
  size_t count = 0;
  for (const api::BoundOption& option : options) {
    for (const std::string& old : api::words_in(option.entry->earlier)) {
      if (!old.starts_with("--") || option.entry->face == api::OptionFace::python) continue;
      const std::string now = option.entry->long_flag();
      const auto with = [&](const std::string& flag, bool as_json) {
        std::vector<std::string> words = {verb, "--print-config"};
        const auto add = [&](const std::vector<std::string>& more) {
          words.insert(words.end(), more.begin(), more.end());
        };
        add(flag_with_value(option, flag));
        if (const std::string other(option.entry->needs); !other.empty()) {
          const api::BoundOption& needed = api::option_named(options, other, verb);
          add(flag_with_value(needed, needed.entry->long_flag()));
        }
        if (as_json) words.emplace_back("--json");
        return workspace.expect(0, words);
      };
      EXPECT_EQ(with(old, false).err,
                fmt::format("halfstep: note: {} is now {} (0.3 removes the old spelling)\n", old, now));
      const test::Outcome as_json = with(old, true);
      EXPECT_EQ(as_json.err, "");
      EXPECT_EQ(as_json.out, with(now, true).out);
      ++count;
    }
  }
  return count;
}

TEST_F(Config, EveryEarlierFlagPrintsOneLine) {
  const auto test_all = [&](auto... commands) { return (test_earlier_flags(commands, workspace_) + ...); };
  const size_t count = test_all(
      api::AnalyzeCommand(), api::BitsCommand(), api::CompareCommand(), api::ConvertCommand(), api::DataCommand(),
      api::DumpCommand(), api::EvalCommand(), api::ExplainCommand(), api::ExportCommand(), api::FuzzCommand(),
      api::InspectCommand(), api::OpCommand(), api::PassCommand(), api::PlatformCommand(), api::QuantizeCommand(),
      api::QuickstartCommand(), api::ReportCommand(), api::RunCommand(), api::TrainCommand(), api::VerifyCommand());
  EXPECT_GE(count, 70U) << "earlier flags are described in another way";
}

TEST_F(Config, a_seed_that_has_no_effect_is_accepted_with_a_note) {
  for (const char* verb : {"platform", "convert", "inspect", "export"}) {
    const auto done = workspace_.expect(0, {verb, "--seed", "3", "--print-config"});
    EXPECT_NE(done.err.find(std::string(verb) + ": --seed has no effect here"), std::string::npos) << done.err;
  }
  const auto used = workspace_.expect(0, {"train", "--seed", "3", "--print-config"});
  EXPECT_EQ(used.err, "");
}

}  // namespace
}  // namespace halfstep
