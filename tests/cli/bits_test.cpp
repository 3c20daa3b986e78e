// `halfstep bits`: other commands accept its output, and it writes nothing when no bit widths fit.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

class Bits : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
  }
  static void TearDownTestSuite() { delete workspace; }

  static test::Outcome bits(int code, std::vector<std::string> more, const std::string& network = "prepared") {
    more.insert(more.begin(), {"bits", "quick/" + network + ".safetensors", "--samples", "64", "--front", "3"});
    return workspace->expect(code, more);
  }
  static std::vector<Diagnostic> errors(int code, const std::vector<std::string>& more,
                                        const std::string& network = "prepared") {
    std::vector<std::string> arguments = more;
    arguments.insert(arguments.end(), {"--out", "nothing.safetensors", "--json"});
    auto found = bits(code, arguments, network).errors();
    EXPECT_FALSE(workspace->has("nothing.safetensors"));
    return found;
  }
  static void expect_error(const Diagnostic& expected, const std::vector<std::string>& more,
                           const std::string& network = "prepared") {
    EXPECT_EQ(errors(2, more, network), std::vector{expected});
  }
  /// Expects an error of another room that names these values.
  static void expect_values(int code, const std::vector<std::string>& values, const std::vector<std::string>& more) {
    const auto found = errors(code, more);
    for (const std::string& value : values) EXPECT_TRUE(test::mentions(found, value)) << value;
  }

  static inline Workspace* workspace = nullptr;
};

TEST_F(Bits, the_whole_way) {
  const nlohmann::json report = bits(0, {"--budget", "size<=50kB", "--json", "--out", "mixed.safetensors"}).json();
  EXPECT_LE(report["chosen"]["costs"]["size"], 50e3);
  EXPECT_EQ(report["chosen"]["costs"]["size"], report["measured"]["size"]);
  EXPECT_LT(report["gap"], 1e-9);
  std::map<std::string, int> chosen;
  for (const auto& group : report["groups"]) chosen[group["tensor"]] = group["bits"];
  const nlohmann::json audit = workspace->expect(0, {"inspect", "mixed.safetensors", "--audit", "--json"}).json();
  for (const auto& row : audit["quantizers"]) {
    if (chosen.contains(row["tensor"])) {
      EXPECT_EQ(row["bits"], chosen.at(row["tensor"])) << row["tensor"];
    }
  }
  workspace->expect(0, {"convert", "mixed.safetensors", "--out", "integer.safetensors"});
  workspace->expect(0, {"verify", "mixed.safetensors", "integer.safetensors"});
  workspace->expect(0, {"train", "--model", "mixed.safetensors", "--epochs", "1", "--out", "tuned"});
}

/// Steps in one command produce the same results as separate commands.
TEST_F(Bits, repaired_tuned_and_proven_in_one) {
  const nlohmann::json report = bits(0, {"--budget", "size<=50kB", "--repair", "bias", "--epochs", "1", "--json",
                                         "--out", "done.safetensors", "--program-out", "proven.safetensors"})
                                    .json();
  EXPECT_EQ(report["repair"]["steps"][0]["method"].get<std::string>(), "bias");
  EXPECT_EQ(report["training"]["epochs"], 1);
  EXPECT_TRUE(report["proof"]["equal"]);
  EXPECT_GT(report["proof"]["layers"][0]["compared"], 0);
  bits(0, {"--budget", "size<=50kB", "--out", "1.safetensors"});
  workspace->expect(0, {"quantize", "1.safetensors", "--repair", "bias", "--out", "2.safetensors"});
  workspace->expect(0, {"train", "--model", "2.safetensors", "--epochs", "1", "--out", "3"});
  workspace->expect(0, {"convert", "3/model.safetensors", "--out", "4.safetensors"});
  EXPECT_EQ(test::read_text(*workspace / "proven.safetensors"), test::read_text(*workspace / "4.safetensors"));
  workspace->expect(0, {"verify", "done.safetensors", "proven.safetensors"});
}

TEST_F(Bits, a_proof_that_cannot_be_is_refused_before_any_work) {
  workspace->expect(0,
                    {"quantize", "quick/float.safetensors", "--skip-layers", "conv3", "--out", "fallback.safetensors"});
  const auto found = workspace->errors(3, {"bits", "fallback.safetensors", "--budget", "size<=50kB", "--out",
                                           "nothing.safetensors", "--program-out", "nothing_too.safetensors"});
  EXPECT_TRUE(test::mentions(found, "--float-fallback"));
  EXPECT_FALSE(workspace->has("nothing.safetensors"));
}

TEST_F(Bits, text_and_repeated_runs) {
  const auto text = bits(0, {"--budget", "bitops<=40M", "--out", "a.safetensors", "--threads", "1"}).out;
  for (const char* words :
       {"layer  operator  weights  reads", "weights 4, activations 4", "bitops", "gap 0", "wrote a.safetensors"})
    EXPECT_NE(text.find(words), std::string::npos) << text;
  bits(0, {"--budget", "bitops<=40M", "--out", "b.safetensors", "--threads", "3"});
  EXPECT_EQ(test::read_text(*workspace / "a.safetensors"), test::read_text(*workspace / "b.safetensors"));
  bits(2, {"--budget", "bitops<=40M", "--out", "a.safetensors"});
}

TEST_F(Bits, latency_says_where_bit_widths_make_no_difference) {
  const nlohmann::json report = bits(0, {"--budget", "latency<=1s", "--json", "--out", "fast.safetensors"}).json();
  EXPECT_GT(report["chosen"]["costs"]["latency_ms"], 0);
  EXPECT_GT(report["measured"]["latency_ms"], 0);
  EXPECT_TRUE(report["latency_source"].get<std::string>().starts_with("this machine, "));
}

TEST_F(Bits, refusals_write_nothing) {
  expect_values(3, {"budget_out_of_reach", "generic_int8"}, {"--budget", "size<=1kB"});
  expect_values(2, {"budget_malformed", "'size<=big'"}, {"--budget", "size<=big"});
  expect_error(errors::no_platform("digits", "a platform to quantize it for",
                                   "set one (--platform), or pass a prepared network"),
               {"--budget", "size<=50kB"}, "float");
  expect_error(errors::wrong_stage("network 'digits'", "an integer program", "a float or prepared network",
                                   "use its source network"),
               {"--budget", "size<=50kB"}, "integer");
  expect_values(2, {"cannot_be_read", "none.csv"}, {"--budget", "latency<=1ms", "--table", "none.csv"});
  test::write_text(*workspace / "board.csv", "layer,weights,activations,milliseconds\nconv1,8,8,1\n");
  expect_values(2, {"latency_table_layer_missing", "board.csv", "conv2", "conv3"},
                {"--budget", "latency<=1ms", "--table", "board.csv"});
  expect_values(2, {"repair_method_unknown", "magic"}, {"--budget", "size<=50kB", "--repair", "magic"});
  expect_error(errors::nothing_to_resume("neither --repair nor --epochs", "the one to resume"),
               {"--budget", "size<=50kB", "--resume"});
  expect_error(errors::output_given_twice("--program-out", "nothing.safetensors"),
               {"--budget", "size<=50kB", "--program-out", "nothing.safetensors"});
  expect_error(errors::file_not_replaced("quick/integer.safetensors", "file"),
               {"--budget", "size<=50kB", "--program-out", "quick/integer.safetensors"});
  expect_error(errors::argument_missing("bits", "--budget"), {});
}

}  // namespace
}  // namespace halfstep
