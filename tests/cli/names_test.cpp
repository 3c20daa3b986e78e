// Networks whose values and tensors have names that Halfstep derives for others. Nothing is mixed up, and no number
// changes.
#include <gtest/gtest.h>

#include <map>

#include "halfstep/core/base/random.h"
#include "halfstep/core/files/npz.h"
#include "tests/cli/program.h"
#include "tests/formats/build.h"

namespace halfstep {
namespace {

using formats::onnx::test::attribute;
using formats::onnx::test::floats;
using formats::onnx::test::ModelText;
using test::Workspace;

/// Plain names, and names in our style. Some step derives each of the latter from a name of the network.
const std::map<std::string, std::string> kOurs = {{"bias", "w.average"},
                                                  {"v", "w.q"},
                                                  {"u", "w.scale"},
                                                  {"t", "w.velocity"},
                                                  {"factor", "c.w"},
                                                  {"head", "w.step"},
                                                  {"r", "c.acc"},
                                                  {"d", "x.q"},
                                                  {"e", "c.q"},
                                                  {"s", "c.real"},
                                                  {"m", "c.q.real"},
                                                  {"a", "c.parameters"},
                                                  {"f", "labels"},
                                                  {"g", "labels.table"},
                                                  {"h", "learning_rate"},
                                                  {"z", "y.q.real"},
                                                  {"other", "c.shift"},
                                                  {"k", "w.q.scale"},
                                                  {"p", "c.parameters.shift"}};

std::string called(const std::string& plain, bool ours) {
  const auto found = kOurs.find(plain);
  return ours && found != kOurs.end() ? found->second : plain;
}

std::vector<float> normal(int64_t count, uint64_t seed) {
  Random random(5, seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = random.normal();
  return numbers;
}

/// Layers, a float fallback of a difference, a product and a sum, a table, and two outputs that are one value.
std::string network(bool ours) {
  const auto name = [&](const std::string& plain) { return called(plain, ours); };
  ModelText text;
  text.input("x", {-1, 3, 6, 6});
  text.input(name("other"), {-1, 4, 6, 6});
  uint64_t seed = 0;
  const auto weights = [&](const std::string& plain, std::vector<int64_t> dims) {
    text.add_tensor(floats(name(plain), dims, normal(count_elements(dims), seed++)));
  };
  weights("w", {4, 3, 1, 1});
  weights("bias", {4});
  for (const char* plain : {"v", "u", "t"}) weights(plain, {4, 4, 1, 1});
  weights("factor", {1, 4, 1, 1});
  weights("head", {3, 4});
  text.add("Conv", {"x", "w", name("bias")}, {"c"});
  text.add("Relu", {"c"}, {name("r")});
  text.add("Conv", {name("r"), name("v")}, {name("d")});
  text.add("Conv", {name("d"), name("u")}, {name("e")});
  text.add("Sub", {name("e"), name("other")}, {name("s")});
  text.add("Mul", {name("s"), name("factor")}, {name("m")});
  text.add("Add", {name("m"), name("other")}, {name("k")});
  text.add("Conv", {name("k"), name("t")}, {name("a")});
  text.add("Sigmoid", {name("a")}, {name("f")});
  text.add("GlobalAveragePool", {name("f")}, {name("g")});
  text.add("Flatten", {name("g")}, {name("h")});
  text.add("Relu", {name("h")}, {name("p")});
  text.add("Gemm", {name("p"), name("head")}, {"y"}, {attribute("transB", 1)});
  text.add("Identity", {"y"}, {name("z")});
  text.output("y");
  text.output(name("z"));
  return text.text();
}

class Names : public testing::Test {
 protected:
  Names() {
    for (const bool ours : {false, true}) {
      const std::string stem = ours ? "ours" : "plain";
      test::write_text(workspace / (stem + ".onnx"), network(ours));
      const auto samples = normal(32 * 108, 90), others = normal(32 * 144, 91);
      io::write_npz(workspace / (stem + ".npz"),
                    {{"x", Tensor::of<float>(DType::f32, {32, 3, 6, 6}, samples)},
                     {called("other", ours), Tensor::of<float>(DType::f32, {32, 4, 6, 6}, others)}});
      workspace.expect(0, {"quantize", stem + ".onnx", "--calibrate", stem + ".npz", "--weight-bits", "4",
                           "--activation-bits", "4", "--first-last-bits", "4", "--out", stem + ".prepared"});
    }
  }

  /// Outputs of the Model STEM.STAGE.
  Tensor result(const std::string& stem, const std::string& stage) {
    workspace.expect(0, {"run", stem + "." + stage, "--inputs", stem + ".npz", "--outputs", stem + stage + ".npz"});
    const auto outputs = io::read_npz(workspace / (stem + stage + ".npz"));
    EXPECT_EQ(outputs.size(), 2U);
    EXPECT_TRUE(outputs.at("y").same_bits(outputs.at(called("z", stem == "ours"))));
    return outputs.at("y");
  }

  void expect_proof(const std::string& stem) {
    workspace.expect(0, {"convert", stem + ".prepared", "--float-fallback", "--out", stem + ".integer"});
    workspace.expect(0, {"verify", stem + ".prepared", stem + ".integer", "--data", stem + ".npz"});
  }

  Workspace workspace;
};

TEST_F(Names, that_are_made_by_us_are_nobody_elses) {
  for (const char* stem : {"plain", "ours"}) expect_proof(stem);
  EXPECT_TRUE(result("plain", "prepared").same_bits(result("ours", "prepared")));
  EXPECT_TRUE(result("plain", "integer").same_bits(result("ours", "integer")));
}

TEST_F(Names, do_not_matter_to_training_and_its_checkpoints) {
  for (const std::string stem : {"plain", "ours"}) {
    const auto train = [&](const std::string& epochs, const std::string& out) {
      workspace.expect(0, {"train", "--model", stem + ".prepared", "--data", stem + ".npz", "--batch", "8", "--epochs",
                           epochs, "--out", out, "--resume"});
    };
    train("2", stem);
    std::filesystem::rename(workspace / stem / "model.safetensors", workspace / (stem + ".trained"));
    std::filesystem::remove(workspace / stem / "checkpoint_0002.safetensors");
    train("2", stem);
    EXPECT_TRUE(test::read_text(workspace / stem / "model.safetensors") ==
                test::read_text(workspace / (stem + ".trained")));
    std::filesystem::rename(workspace / (stem + ".trained"), workspace / (stem + ".prepared"));
    expect_proof(stem);
  }
  EXPECT_TRUE(result("plain", "prepared").same_bits(result("ours", "prepared")));
}

}  // namespace
}  // namespace halfstep
