// ONNX files on the command line: run on test data, inspected, refused.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/npz.h"
#include "tests/cli/program.h"
#include "tests/formats/build.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using formats::onnx::test::ModelText;
using test::Workspace;

/// y = relu(x), and test data where y may be wrong.
class Onnx : public testing::Test {
 protected:
  Onnx() {
    ModelText text;
    text.input("x", {-1, 3});
    text.add("Relu", {"x"}, {"y"}).set_name("act");
    text.output("y");
    test::write_text(workspace / "relu", text.text());
  }
  void write_set(const std::string& folder, const std::vector<float>& y) {
    const auto set = workspace / folder / "test_data_set_0";
    std::filesystem::create_directories(set);
    test::write_text(set / "input_0.pb", formats::onnx::test::floats("x", {1, 3}, {-1, 0, 2}).SerializeAsString());
    test::write_text(set / "output_0.pb", formats::onnx::test::floats("y", {1, 3}, y).SerializeAsString());
  }
  Workspace workspace;
};

TEST_F(Onnx, test_data_pass_differ_or_are_refused) {
  write_set("good", {0, 0, 2});
  write_set("bad", {0, 0, 2.5});
  workspace.expect(0, {"run", "relu", "--test-data", "good"});
  const auto differs = workspace.expect(1, {"run", "relu", "--test-data", "bad"});
  EXPECT_NE(differs.out.find("test_data_set_0/y: first differs at [0, 2]: found 2, expected 2.5"), std::string::npos);
  test::write_text(workspace / "bad/tolerance.json", R"({"rtol": 0.5, "atol": 0})");
  workspace.expect(0, {"run", "relu", "--test-data", "bad"});

  ModelText other;
  other.input("x", {1, 3});
  other.add("Nonsense", {"x"}, {"y"}).set_name("it");
  other.output("y");
  test::write_text(workspace / "other.onnx", other.text());
  const auto refused = workspace.errors(3, {"run", "other.onnx", "--test-data", "good"});
  for (const char* value : {"other.onnx", "'it'", "Nonsense"}) EXPECT_TRUE(test::mentions(refused, value)) << value;
  const auto target =
      workspace.expect(3, {"inspect", "other.onnx", "--platform", "generic_int8", "--json"}).json()["target"];
  EXPECT_EQ(target["objections"][0]["name"], "node_not_imported");
  EXPECT_EQ(target["objections"][0]["layer"], "it");
  const auto report = workspace.expect(0, {"inspect", "other.onnx", "--json"}).json();
  EXPECT_FALSE(report["supported"]);
  EXPECT_EQ(report["unsupported"][0]["nodes"][0], "it");
}

/// Names in a file may contain any bytes.
TEST_F(Onnx, names_that_are_no_text_are_shown_as_far_as_they_are) {
  ModelText text;
  text.input("x", {-1, 3});
  text.add("Relu", {"x"}, {"name"});
  text.output("name");
  std::string bytes = text.text();
  for (size_t at = bytes.find("name"); at != std::string::npos; at = bytes.find("name", at)) bytes[at + 1] = '\xff';
  test::write_text(workspace / "bytes.onnx", bytes);
  const float zeros[3] = {};
  io::write_npz(workspace / "x.npz", {{"x", Tensor::of<float>(DType::f32, {1, 3}, zeros)}});
  const auto report = workspace.expect(0, {"run", "bytes.onnx", "--inputs", "x.npz", "--json"}).json();
  EXPECT_EQ(report["outputs"].begin().key(), "n\uFFFDme");
}

TEST_F(Onnx, what_is_called_so_and_is_none_is_refused_as_that) {
  test::write_text(workspace / "no.onnx", "PK\x03\x04");
  EXPECT_TRUE(test::mentions(workspace.errors(2, {"inspect", "no.onnx"}), "no.onnx"));
}

TEST_F(Onnx, runs_on_named_tensors) {
  const std::vector<float> values = {-1, 2, 3, 4, -5, 6};
  io::write_npz(workspace / "x.npz", {{"x", Tensor::of<float>(DType::f32, {2, 3}, values)}});
  workspace.expect(0, {"run", "relu", "--inputs", "x.npz", "--outputs", "y.npz"});
  EXPECT_EQ(io::read_npz(workspace / "y.npz").at("y").data<float>()[4], 0);
  EXPECT_EQ(workspace.error(2, {"run", "relu"}),
            errors::input_missing("relu", "x", "float32[n, 3]", "the network", ""));
}

TEST_F(Onnx, inspection_says_what_is_in_it) {
  const auto text = workspace.expect(0, {"inspect", "relu"}).out;
  EXPECT_NE(text.find("ONNX file of test, IR version 10, opset ai.onnx 18"), std::string::npos);
  EXPECT_NE(text.find("every node is supported"), std::string::npos);
  EXPECT_NE(text.find("input       x: float32[n, 3], assumed [1, 3]\n"), std::string::npos);
  const auto json = workspace.expect(0, {"inspect", "relu", "--json"}).json();
  EXPECT_TRUE(json["supported"]);
  EXPECT_EQ(json["operators"]["Relu"], 1);
  EXPECT_EQ(json["inputs"][0]["taken_as"], (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(json["flops"], 3);
  EXPECT_TRUE(json["memory"].contains("planned"));
}

TEST_F(Onnx, inspection_counts_operations_and_says_what_is_nearest) {
  ModelText text;
  text.input("x", {1, 2, 5, 5});
  text.add_tensor(formats::onnx::test::floats("w", {4, 2, 3, 3}, std::vector<float>(72)));
  text.add("Conv", {"x", "w"}, {"y"});
  text.output("y");
  test::write_text(workspace / "conv.onnx", text.text());
  const auto json = workspace.expect(0, {"inspect", "conv.onnx", "--json"}).json();
  EXPECT_EQ(json["flops"], 2 * (4 * 3 * 3) * (2 * 3 * 3));
  EXPECT_EQ(json["memory"]["tensors"], 72 * 4);

  text.add("Convo", {"y", "w"}, {"z"}).set_name("it");
  test::write_text(workspace / "other.onnx", text.text());
  const auto shown = workspace.expect(0, {"inspect", "other.onnx"}).out;
  EXPECT_NE(
      shown.find(
          "  Convo: the operator is not supported\n    1 node: it\n    nearest supported: Conv (conv2d): X float,"),
      std::string::npos);
}

}  // namespace
}  // namespace halfstep
