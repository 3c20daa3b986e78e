// `halfstep analyze`: the layers it names, independence of the number of threads, and its refusals.
#include <gtest/gtest.h>

#include <limits>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/ir/model.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

class Analyze : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
  }
  static void TearDownTestSuite() { delete workspace; }

  static nlohmann::json analyzed(std::vector<std::string> more) {
    more.insert(more.begin(), {"analyze", "--json", "--samples", "200"});
    return workspace->expect(0, more).json();
  }
  /// Expects an error that names these values.
  static void expect_values(const std::vector<std::string>& arguments, const std::vector<std::string>& values) {
    const auto found = workspace->errors(2, arguments);
    for (const std::string& value : values) EXPECT_TRUE(test::mentions(found, value)) << value;
  }

  static inline Workspace* workspace = nullptr;
};

TEST_F(Analyze, every_quantizer_has_its_numbers) {
  const nlohmann::json report = analyzed({"quick/prepared.safetensors"});
  const nlohmann::json audit =
      workspace->expect(0, {"inspect", "quick/prepared.safetensors", "--audit", "--json"}).json();
  EXPECT_EQ(report["quantizers"].size(), audit["quantizers"].size());
  EXPECT_EQ(report["samples"], 200);
  EXPECT_TRUE(report["in_float"].contains("accuracy"));
  double before = 1e30;
  for (const auto& one : report["quantizers"]) {
    EXPECT_LE(one["sensitivity"], before);
    before = one["sensitivity"];
    EXPECT_GT(one["sqnr_db"], 10) << one["place"];
    EXPECT_GT(one["cosine"], 0.9);
    EXPECT_TRUE(one.contains("hessian_trace")) << one["place"];
    EXPECT_EQ(one.contains("cumulative"), !one["is_weight"].get<bool>());
    EXPECT_FALSE(one["observers"].empty());
    EXPECT_FALSE(one["histogram"]["counts"].empty());
  }
}

TEST_F(Analyze, any_number_of_threads_says_the_same) {
  const auto text = [](const char* threads) {
    return workspace
        ->expect(0, {"analyze", "quick/prepared.safetensors", "--samples", "150", "--threads", threads, "--json"})
        .out;
  };
  EXPECT_EQ(text("1"), text("3"));
}

/// One channel of a layer is scaled by 50, while the weights of the next layer stay.
TEST_F(Analyze, the_ruined_layer_is_named) {
  Model network = load_model(*workspace / "quick/float.safetensors");
  Tensor& weight = network.tensors.at("conv3.w");
  weight = weight.clone();
  const auto all = weight.data<float>();
  const size_t each = all.size() / static_cast<size_t>(weight.dims()[0]);
  for (float& element : all.subspan(5 * each, each)) element *= 50;
  save_model(network, *workspace / "ruined.safetensors");
  const nlohmann::json report = analyzed({"ruined.safetensors", "--platform", "generic_int8"});
  bool is_named = false;
  for (const auto& one : report["quantizers"]) {
    if (one["layer"] != "conv3") continue;
    for (const auto& outlier : one["channels"]["outliers"])
      is_named = is_named || (outlier["channel"] == 5 && outlier["ratio"] > 10);
  }
  EXPECT_TRUE(is_named) << report.dump(1);
  EXPECT_TRUE(report["quantizers"][0]["is_badly_scaled"]);
  EXPECT_EQ(report["quantizers"][0]["layer"], "conv3") << report["quantizers"][0]["place"];
  const std::string text =
      workspace->expect(0, {"analyze", "ruined.safetensors", "--platform", "generic_int8", "--samples", "200"}).out;
  EXPECT_NE(text.find("weights of conv3: channel 5 is "), std::string::npos) << text;
  for (size_t at = text.find(" --"); at != std::string::npos; at = text.find(" --", at + 1)) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    EXPECT_TRUE(line.find(" (loss ") != std::string::npos || line.find(" (distance ") != std::string::npos) << line;
  }
}

TEST_F(Analyze, refusals_say_what_to_do) {
  EXPECT_EQ(workspace->error(2, {"analyze", "quick/float.safetensors"}),
            errors::no_platform("digits", "a platform to quantize it for",
                                "set one (--platform), or pass a prepared network"));
  EXPECT_EQ(workspace->error(2, {"analyze", "quick/integer.safetensors"}),
            errors::wrong_stage("network 'digits'", "an integer program", "a float or prepared network",
                                "use its source network"));
  expect_values({"analyze", "quick/prepared.safetensors", "--data", "none.csv"}, {"cannot_be_read", "none.csv"});
  EXPECT_EQ(workspace->error(2, {"analyze", "quick/prepared.safetensors", "--part", "half"}),
            errors::not_a_choice("analyze: --part", "half", "test, train"));
  Tensor x(DType::f32, {40, 1, 8, 8});
  std::ranges::fill(x.data<float>(), 0.25F);
  io::write_npz(*workspace / "constant.npz", {{"x", x}});
  expect_values({"analyze", "quick/prepared.safetensors", "--data", "constant.npz"},
                {"calibration_input_constant", "constant.npz", "0.25"});
  Model broken = load_model(*workspace / "quick/prepared.safetensors");
  Tensor& bias = broken.tensors.at("head.b");
  bias = bias.clone();
  bias.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  save_model(broken, *workspace / "broken.safetensors");
  expect_values({"analyze", "broken.safetensors", "--samples", "50"},
                {"float_network_not_finite", "'head'", "50 of 500"});
}

TEST_F(Analyze, without_labels_and_with_one_sample) {
  Tensor x(DType::f32, {40, 1, 8, 8});
  Random random(3, 0);
  for (float& value : x.data<float>()) value = random.uniform();
  io::write_npz(*workspace / "x.npz", {{"x", x}});
  const nlohmann::json report = analyzed({"quick/prepared.safetensors", "--data", "x.npz"});
  EXPECT_FALSE(report["has_labels"]);
  EXPECT_EQ(report["in_float"]["agreement"], 1.0);
  EXPECT_EQ(report["in_float"]["loss"], 0.0);
  EXPECT_NE(report["notes"][0].get<std::string>().find("accuracy cannot be computed"), std::string::npos);
  const auto one = workspace->expect(0, {"analyze", "quick/prepared.safetensors", "--data", "x.npz", "--samples", "1"});
  EXPECT_NE(one.err.find("only 1 sample: accuracy has a resolution of 100 points"), std::string::npos) << one.err;
}

/// Names that would need quoting in a shell or a page.
TEST_F(Analyze, odd_names_stay_whole) {
  const std::string odd = R"(<script>"it's"</script>)";
  Model network = load_model(*workspace / "quick/float.safetensors");
  network.graph.rename(network.graph.op("conv3"), odd);
  save_model(network, *workspace / "odd.safetensors");
  const nlohmann::json report =
      analyzed({"odd.safetensors", "--platform", "generic_int8", "--weight-bits", "2", "--activation-bits", "2"});
  bool is_there = false;
  for (const auto& one : report["quantizers"]) {
    is_there = is_there || one["layer"] == odd;
    for (const std::string suggestion : one["suggestions"]) {
      if (one["layer"] == odd && suggestion.find("--bits") != std::string::npos) {
        EXPECT_NE(suggestion.find(R"(--bits '<script>"it'\''s"</script>'=)"), std::string::npos) << suggestion;
      }
    }
  }
  EXPECT_TRUE(is_there);
}

}  // namespace
}  // namespace halfstep
