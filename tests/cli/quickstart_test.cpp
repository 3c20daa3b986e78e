// A short quickstart on every platform: its report, and a proof that finds injected faults.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

void expect_layer(const nlohmann::json& layer) {
  SCOPED_TRACE(layer.dump());
  ASSERT_EQ(layer.size(), 11);
  EXPECT_TRUE(layer["name"].is_string());
  EXPECT_TRUE(layer["op"].is_string());
  EXPECT_TRUE(layer["weight_bits"].is_number_integer() || layer["weight_bits"].is_null());
  EXPECT_TRUE(layer["activation_bits"].is_number_integer());
  EXPECT_GT(layer["scale"].get<double>(), 0);
  EXPECT_GT(layer["compared"].get<int64_t>(), 0);
  EXPECT_EQ(layer["differing"].get<int64_t>(), 0);
  EXPECT_GT(layer["sqnr_db"].get<double>(), 0);
  EXPECT_GT(layer["semantics"]["compared"].get<int64_t>(), 0);
  EXPECT_EQ(layer["semantics"]["beyond"].get<int64_t>(), 0);
}

void expect_accuracies(const nlohmann::json& accuracy) {
  EXPECT_EQ(accuracy.size(), 4);
  for (const char* stage : {"float", "calibrated", "finetuned", "integer"}) {
    const double share = accuracy.at(stage).get<double>();
    EXPECT_GT(share, 0.5) << stage;
    EXPECT_LE(share, 1.0) << stage;
  }
  EXPECT_EQ(accuracy["integer"], accuracy["finetuned"]);
}

/// Checks that every documented key of the report is there, with its type, and that no code differs.
void expect_report(const nlohmann::json& report, const std::string& platform, const Workspace& workspace,
                   const std::string& out) {
  EXPECT_EQ(report["platform"], platform);
  expect_accuracies(report["accuracy"]);
  EXPECT_EQ(report["samples"], 359);
  for (const char* stage : {"float", "calibrate", "finetune", "convert", "verify"})
    EXPECT_TRUE(report["seconds"].at(stage).is_number()) << stage;
  EXPECT_GT(report["peak_rss_bytes"].get<int64_t>(), 1 << 20);
  for (const std::string form : {"float", "integer"})
    EXPECT_EQ(report["model_bytes"].at(form),
              std::filesystem::file_size(workspace / (out + "/" + form + ".safetensors")));
  EXPECT_EQ(report["weights_digest"].get<std::string>().size(), 16);
  EXPECT_GE(report["layers"].size(), 10);
  for (const auto& layer : report["layers"]) expect_layer(layer);
  EXPECT_GT(report["cosine"].get<double>(), 0.5);
  EXPECT_GT(report["agreement"].get<double>(), 0.5);
  EXPECT_EQ(nlohmann::json::parse(test::read_text(workspace / (out + "/report.json"))), report);
}

nlohmann::json layer_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& layer : report["layers"]) {
    if (layer["name"] == name) return layer;
  }
  ADD_FAILURE() << "no layer " << name << " in " << report.dump();
  return {};
}

class Quickstart : public testing::Test {
 protected:
  Workspace workspace;
};

TEST_F(Quickstart, generic_int8) { expect_report(quick_start(workspace).json(), "generic_int8", workspace, "quick"); }

TEST_F(Quickstart, pow2_int8_in_four_bits) {
  const auto report =
      quick_start(workspace, {"--platform", "pow2_int8", "--weight-bits", "4", "--activation-bits", "4"}).json();
  expect_report(report, "pow2_int8", workspace, "quick");
  EXPECT_EQ(layer_of(report, "conv1")["weight_bits"], 8) << "the first layer stays at 8 bits";
  EXPECT_EQ(layer_of(report, "conv3")["weight_bits"], 4);
  EXPECT_EQ(layer_of(report, "conv3")["activation_bits"], 4);
}

TEST_F(Quickstart, magik_t40_in_four_bits) {
  const auto report =
      quick_start(workspace, {"--platform", "magik_t40", "--weight-bits", "4", "--activation-bits", "4"}).json();
  expect_report(report, "magik_t40", workspace, "quick");
  EXPECT_EQ(layer_of(report, "conv4")["weight_bits"], 4);
}

TEST_F(Quickstart, a_fourth_platform_is_one_file) {
  const auto report =
      quick_start(workspace, {"--platform", HALFSTEP_SOURCE_DIR "/tests/data/toy_platform.yaml"}).json();
  expect_report(report, "toy", workspace, "quick");
  EXPECT_EQ(layer_of(report, "conv3")["weight_bits"], 5);
  EXPECT_EQ(layer_of(report, "conv3")["activation_bits"], 6);
}

TEST_F(Quickstart, prints_one_table_and_plain_lines_of_progress) {
  const auto outcome = workspace.expect(0, {"quickstart", "--epochs", "1", "--tune-epochs", "1"});
  for (const char* text : {"\nfloat ", "\ncalibrated ", "\nfine-tuned ", "\ninteger ", "\nlayer ", "\nhead ",
                           "0 differ\n", "wrote quickstart_out/float.safetensors"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " is missing in:\n" << outcome.out;
  EXPECT_NE(outcome.err.find("float training: 100 %"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos);
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
  const auto guessed = workspace.expect(0, {"verify"});
  EXPECT_NE(guessed.err.find("it reads the folder quickstart_out"), std::string::npos) << guessed.err;
}

/// One quickstart folder for tests that only read it.
class Verify : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
  }
  static void TearDownTestSuite() { delete workspace; }
  static inline Workspace* workspace = nullptr;
};

TEST_F(Verify, finds_no_difference) {
  const auto report = workspace->expect(0, {"verify", "quick", "--json"}).json();
  EXPECT_TRUE(report["equal"].get<bool>());
  EXPECT_EQ(report["samples"], 359);
  for (const auto& layer : report["layers"]) EXPECT_GT(layer["compared"].get<int64_t>(), 0) << layer;
}

TEST_F(Verify, works_from_inside_the_folder) {
  Workspace other;
  for (const auto& [name, contents] : test::listing(*workspace / "quick")) test::write_text(other / name, contents);
  const auto outcome = other.expect(0, {"verify"});
  EXPECT_NE(outcome.out.find(", 0 differ\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("it reads the folder ."), std::string::npos) << outcome.err;
  EXPECT_EQ(other.expect(0, {"verify", "."}).err.find("it reads"), std::string::npos);
}

TEST_F(Verify, finds_an_injected_code_and_names_it) {
  const auto outcome = workspace->expect(1, {"verify", "quick", "--inject", "conv4:17"});
  EXPECT_NE(outcome.out.find("layer 'conv4': weight code 17 at [0, 1, 2, 2]: training path "), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\nfirst differing activation: layer '"), std::string::npos) << outcome.out;

  const auto report = workspace->expect(1, {"verify", "quick", "--inject", "conv4:17", "--json"}).json();
  EXPECT_FALSE(report["equal"].get<bool>());
  EXPECT_EQ(layer_of(report, "conv1")["differing"], 0);
  const auto layer = layer_of(report, "conv4");
  EXPECT_EQ(layer["parameters_differing"], 1);
  EXPECT_EQ(layer["first_parameter"]["index"], 17);
  EXPECT_EQ(layer["first_parameter"]["training"].get<int>() ^ -128, layer["first_parameter"]["integer"].get<int>());
  const auto activation = layer["first_activation"];
  const auto at = activation["position"].get<std::vector<int64_t>>();
  ASSERT_EQ(at.size(), 3);
  EXPECT_EQ(activation["index"], (at[0] * 4 + at[1]) * 4 + at[2]) << "NCHW: 64 channels of 4 by 4";
  EXPECT_EQ(activation["nhwc_index"], (at[1] * 4 + at[2]) * 64 + at[0]);
  EXPECT_NE(activation["training"], activation["integer"]);
}

TEST_F(Verify, finds_a_code_injected_into_each_layer_with_weights) {
  for (const std::string layer : {"conv1", "conv2", "conv3", "conv4", "conv5", "head"}) {
    const auto report = workspace->expect(1, {"verify", "quick", "--inject", layer + ":0", "--json"}).json();
    EXPECT_EQ(layer_of(report, layer)["parameters_differing"], 1) << layer;
  }
}

/// The last line is a plain sentence with the numbers of eval.
TEST_F(Verify, ends_in_a_sentence) {
  const auto accuracy = [](const std::string& form) {
    return workspace->expect(0, {"eval", "quick/" + form + ".safetensors", "--json"}).json()["accuracy"].get<double>();
  };
  const double integer = accuracy("integer"), real = accuracy("float");
  const auto report = workspace->expect(0, {"verify", "quick", "--json"}).json();
  EXPECT_EQ(report["accuracy"]["integer"], integer);
  EXPECT_EQ(report["accuracy"]["float"], real);
  const std::string worth = fmt::format("; {:.1f} % accuracy, float {:.1f} %", 100 * integer, 100 * real);
  const std::string sentence = "the integer program equals the prepared model (0 of 4,561,700 codes differ)" + worth;
  EXPECT_EQ(report["verdict"], sentence);
  EXPECT_TRUE(workspace->expect(0, {"verify", "quick"}).out.ends_with("\n\n" + sentence + "\n"));
  const auto wrong = workspace->expect(1, {"verify", "quick", "--inject", "conv4:17", "--json"}).json();
  const auto verdict = wrong["verdict"].get<std::string>();
  EXPECT_TRUE(verdict.starts_with("the integer program differs from the prepared model (")) << verdict;
  EXPECT_NE(verdict.find(fmt::format("float {:.1f} %", 100 * real)), std::string::npos) << verdict;
}

TEST_F(Verify, inspect_lists_every_form) {
  for (const std::string form : {"float", "prepared", "integer"}) {
    const auto outcome = workspace->expect(0, {"inspect", "quick/" + form + ".safetensors", "--explain"});
    EXPECT_TRUE(outcome.out.starts_with(form + " network 'digits'\n")) << outcome.out;
    for (const char* text : {"graph digits(", "return ", "instructions", "values", "head"})
      EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " is missing in:\n" << outcome.out;
  }
}

TEST_F(Verify, text_of_every_form_parses_to_the_same_graph) {
  for (const std::string form : {"float", "prepared", "integer"}) {
    const Model model = load_model(*workspace / ("quick/" + form + ".safetensors"));
    const std::string text = print(model.graph);
    const Graph again = parse(text);
    EXPECT_TRUE(again == model.graph) << text;
    EXPECT_EQ(print(again), text);
  }
}

TEST_F(Verify, verbs_one_by_one_make_what_quickstart_makes) {
  workspace
      ->expect(0, {"quantize", "quick/float.safetensors", "--platform", "pow2_int8", "--out", "prepared.safetensors",
                   "--json"})
      .json();
  workspace->expect(0, {"train", "--model", "prepared.safetensors", "--epochs", "1", "--out", "tuned"});
  const auto conversion =
      workspace->expect(0, {"convert", "tuned/model.safetensors", "--out", "integer.safetensors", "--json"}).json();
  for (const auto& layer : conversion["accumulators"])
    EXPECT_LE(layer["accumulator_bound"].get<int64_t>(), layer["accumulator_limit"].get<int64_t>()) << layer;
  const auto verdict =
      workspace
          ->expect(0, {"verify", "--prepared", "tuned/model.safetensors", "--integer", "integer.safetensors", "--json"})
          .json();
  EXPECT_TRUE(verdict["equal"].get<bool>());
  const auto prepared = workspace->expect(0, {"eval", "--model", "tuned/model.safetensors", "--json"}).json();
  const auto integer = workspace->expect(0, {"eval", "--model", "integer.safetensors", "--json"}).json();
  EXPECT_EQ(prepared["stage"], "prepared");
  EXPECT_EQ(integer["stage"], "integer");
  EXPECT_EQ(prepared["accuracy"], integer["accuracy"]);
}

}  // namespace
}  // namespace halfstep
