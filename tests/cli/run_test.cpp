// `halfstep run` on files of tensors, and the help of every command.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/safetensors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::Workspace;
using Tensors = std::map<std::string, Tensor>;

/// The folder quick, and x.npz and x.safetensors with the same images.
class Run : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
    Tensor x(DType::f32, {5, 1, 8, 8});
    Random random(3, 0);
    for (float& value : x.data<float>()) value = random.uniform();
    io::write_npz(*workspace / "x.npz", {{"x", x}});
    io::write_safetensors(*workspace / "x.safetensors", {{{"x", x}}, {}});
  }
  static void TearDownTestSuite() { delete workspace; }

  static test::Outcome run(int code, std::vector<std::string> more, const std::string& form = "float") {
    more.insert(more.begin(), {"run", "quick/" + form + ".safetensors"});
    return workspace->expect(code, more);
  }
  /// Writes the outputs of the float network, with element `index` moved by `change`.
  static void write_changed(const std::string& file, size_t index, float change) {
    run(0, {"--inputs", "x.npz", "--outputs", "y.npz", "--overwrite"});
    Tensors outputs = io::read_npz(*workspace / "y.npz");
    outputs.at("logits").data<float>()[index] += change;
    io::write_npz(*workspace / file, outputs);
  }

  static inline Workspace* workspace = nullptr;
};

TEST_F(Run, takes_and_writes_npz_and_safetensors_for_every_form) {
  for (const std::string form : {"float", "prepared", "integer"}) {
    SCOPED_TRACE(form);
    const std::string first = form + "_y.safetensors", second = form + "_y.npz";
    run(0, {"--inputs", "x.npz", "--outputs", first}, form);
    run(0, {"--inputs", "x.safetensors", "--outputs", second, "--expect", first, "--exact"}, form);
    run(0, {"--inputs", "x.npz", "--expect", second, "--exact"}, form);
    const Tensors outputs = io::read_npz(*workspace / second);
    ASSERT_TRUE(outputs.contains("logits"));
    EXPECT_EQ(outputs.at("logits").type(), (Type{DType::f32, {5, 10}}));
  }
}

TEST_F(Run, takes_numbers_as_numpy_has_them) {
  const Tensor x = io::read_npz(*workspace / "x.npz").at("x");
  Tensor wide(DType::f64, x.dims());
  std::ranges::copy(x.data<float>(), wide.data<double>().begin());
  io::write_file(*workspace / "x.npy", io::serialize_npy(wide, "x.npy"));
  io::write_npz(*workspace / "wide.npz", {{"x", wide}});
  run(0, {"--inputs", "x.npz", "--outputs", "narrow.npz"});
  const Tensor logits = io::read_npz(*workspace / "narrow.npz").at("logits");
  io::write_file(*workspace / "logits.npy", io::serialize_npy(logits, "logits.npy"));
  for (const char* file : {"x.npy", "wide.npz"}) run(0, {"--inputs", file, "--expect", "logits.npy", "--exact"});
  workspace->expect(0, {"export", "quick/float.safetensors", "--out", "narrow.onnx"});
  workspace->expect(0, {"run", "narrow.onnx", "--inputs", "x.npy", "--expect", "logits.npy"});
}

TEST_F(Run, prepared_and_integer_networks_give_the_same_bits) {
  run(0, {"--inputs", "x.npz", "--outputs", "codes.npz"}, "prepared");
  run(0, {"--inputs", "x.npz", "--expect", "codes.npz", "--exact"}, "integer");
  run(0, {"--inputs", "x.npz", "--expect", "codes.npz", "--exact", "--device", "sim"}, "integer");
}

TEST_F(Run, a_difference_exits_with_1_and_says_where) {
  write_changed("moved.npz", 13, 0.25F);
  const auto outcome = run(1, {"--inputs", "x.npz", "--expect", "moved.npz"});
  EXPECT_NE(outcome.out.find("logits: first differs at [1, 3]: found "), std::string::npos) << outcome.out;
  const auto report = run(1, {"--inputs", "x.npz", "--expect", "moved.npz", "--json"}).json();
  EXPECT_FALSE(report["equal"].get<bool>());
  EXPECT_EQ(report["comparisons"][0]["differing"], 1);
  EXPECT_NEAR(report["comparisons"][0]["largest_difference"].get<double>(), 0.25, 1e-5);
}

TEST_F(Run, tolerances_decide) {
  write_changed("near.npz", 0, 1e-2F);
  run(1, {"--inputs", "x.npz", "--expect", "near.npz", "--rtol", "0", "--atol", "0.005"});
  run(0, {"--inputs", "x.npz", "--expect", "near.npz", "--rtol", "0", "--atol", "0.02"});
  run(1, {"--inputs", "x.npz", "--expect", "near.npz", "--exact"});
  run(2, {"--inputs", "x.npz", "--expect", "near.npz", "--exact", "--rtol", "0.1"});
}

TEST_F(Run, a_trace_has_every_instruction_with_what_it_gave) {
  std::filesystem::remove(*workspace / "run.json");
  run(0, {"--inputs", "x.npz", "--repeat", "2", "--trace", "run.json,run.log"}, "integer");
  const auto trace = nlohmann::json::parse(test::read_text(*workspace / "run.json"));
  int64_t end = 0, instructions = 0;
  bool has_layer = false;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++instructions;
    EXPECT_GE(event["dur"].get<double>(), 0) << event;
    end = std::max(end, static_cast<int64_t>(event["ts"].get<double>()));
    if (event["name"] != "conv4") continue;
    has_layer = true;
    EXPECT_EQ(event["cat"], "integer_conv2d");
    EXPECT_EQ(event["args"]["out"][0]["place"], "cpu");
    EXPECT_EQ(event["args"]["out"][0]["type"], "u8[5, 4, 4, 64]");
    EXPECT_EQ(event["args"]["out"][0]["range"].get<std::string>().find("0.."), 0U) << event;
  }
  EXPECT_TRUE(has_layer);
  EXPECT_GT(end, 0);
  const std::string log = test::read_text(*workspace / "run.log");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3 * instructions);
  EXPECT_NE(log.find(" name:integer_conv2d node:conv4 kernel:"), std::string::npos) << log;
  EXPECT_EQ(run(2, {"--inputs", "x.npz", "--trace", "run.txt", "--json"}).errors(),
            std::vector{errors::wrong_extension("run.txt", ".txt", ".json for a trace or .log for a log")});
  EXPECT_EQ(run(2, {"--inputs", "x.npz", "--trace", "run.log", "--json"}).errors(),
            std::vector{errors::file_not_replaced("run.log", "file")});
  run(0, {"--inputs", "x.npz", "--trace", "run.log", "--overwrite", "--device", "sim"});
  EXPECT_NE(test::read_text(*workspace / "run.log").find("runs on sim"), std::string::npos);
}

TEST_F(Run, ranges_are_those_of_the_outputs) {
  run(0, {"--inputs", "x.npz", "--outputs", "ranges.npz", "--overwrite", "--trace", "ranges.json"}, "integer");
  const Tensor logits = io::read_npz(*workspace / "ranges.npz").at("logits");
  const auto [low, high] = std::ranges::minmax(logits.data<float>());
  const auto trace = nlohmann::json::parse(test::read_text(*workspace / "ranges.json"));
  EXPECT_EQ(trace["traceEvents"].back()["args"]["out"][0]["range"], fmt::format("{:.6g}..{:.6g}", low, high));
}

TEST_F(Run, every_command_has_help_with_an_example) {
  const std::set<std::string> draw = {"quickstart", "train", "quantize", "verify", "analyze", "bits", "report", "op"};
  for (const std::string command :
       {"quickstart", "data", "train", "eval", "run", "quantize", "convert", "export", "verify", "analyze", "bits",
        "report", "dump", "compare", "inspect", "platform", "op", "pass", "fuzz"}) {
    const auto help = workspace->expect(0, {command, "--help"});
    EXPECT_NE(help.out.find("Examples:\n  halfstep " + command), std::string::npos) << help.out;
    EXPECT_NE(help.out.find("--threads"), std::string::npos) << command;
    EXPECT_EQ(help.out.find("--seed ") != std::string::npos, draw.contains(command)) << command;
  }
  EXPECT_NE(workspace->expect(0, {"--help"}).out.find("Exit codes: 0 done"), std::string::npos);
}

}  // namespace
}  // namespace halfstep
