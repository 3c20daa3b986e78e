// `halfstep export`, and onnxruntime as a third road of `halfstep verify`.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

/// Every kind of layer that onnxruntime_int8 takes, with tables, a product and a shared scale.
const char* const kKinds = R"(graph kinds(x: f32[?, $channels, $height, $width]) {
  param @w1: f32[8, $channels, 3, 3]
  param @w2: f32[8, 8, 1, 1]
  param @w3: f32[8, 8, 1, 1]
  param @head.w: f32[$classes, 16]
  param @head.b: f32[$classes]
  c1 = conv2d(x=x, w=@w1) {pad: [1, 1, 1, 1]}
  r = relu6(x=c1)
  m = global_avg_pool(x=r)
  s1 = conv2d(x=m, w=@w2)
  s = sigmoid(x=s1)
  g = mul(a=r, b=s)
  l0 = conv2d(x=g, w=@w3)
  l = leaky_relu(x=l0) {alpha: 0.125}
  t = add(a=l, b=g)
  k = concat(x=[t, l])
  p = max_pool2d(x=k) {kernel: [3, 3], stride: [2, 2], pad: [1, 1, 1, 1]}
  e = global_avg_pool(x=p)
  f = flatten(x=e)
  head = linear(x=f, w=@head.w, b=@head.b)
  return logits = head
}
)";

class Export : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace, {"--platform", "onnxruntime_int8"});
  }
  static void TearDownTestSuite() { delete workspace; }

  static inline Workspace* workspace = nullptr;
};

TEST_F(Export, writes_files_that_the_program_reads) {
  for (const std::string form : {"float", "qdq", "qoperator"}) {
    SCOPED_TRACE(form);
    const std::string model = form == "float" ? "quick/float.safetensors" : "quick/integer.safetensors";
    workspace->expect(0, {"export", model, "--format", form, "--out", form + ".onnx"});
    workspace->expect(0, {"inspect", form + ".onnx"});
  }
}

TEST_F(Export, a_wrong_form_leaves_nothing_behind) {
  workspace->expect(2, {"export", "quick/float.safetensors", "--format", "qdq", "--out", "no.onnx"});
  workspace->expect(2, {"export", "quick/integer.safetensors", "--format", "float", "--out", "no.onnx"});
  workspace->expect(2, {"export", "quick/float.safetensors", "--opset", "12", "--out", "no.onnx"});
  EXPECT_FALSE(workspace->has("no.onnx"));
}

TEST_F(Export, without_onnxruntime_verify_says_so) {
  const auto outcome =
      workspace->expect(3, {"verify", "quick", "--with", "onnxruntime"}, {{"HALFSTEP_PYTHON", "/nowhere/python"}});
  EXPECT_NE(outcome.err.find("/nowhere/python: cannot be run"), std::string::npos) << outcome.err;
  workspace->expect(2, {"verify", "quick", "--with", "openvino"});
}

#define NEEDS_ONNXRUNTIME()                      \
  if (std::getenv("HALFSTEP_PYTHON") == nullptr) \
  GTEST_SKIP() << "no HALFSTEP_PYTHON: name a Python that has onnxruntime there"

TEST_F(Export, onnxruntime_gives_every_code_of_every_kind_of_layer) {
  NEEDS_ONNXRUNTIME();
  test::write_text(*workspace / "kinds.ir", kKinds);
  workspace->expect(0, {"train", "--network", "kinds.ir", "--epochs", "2", "--out", "kinds"});
  for (const std::string bits : {"8", "4"}) {
    workspace->expect(0, {"quantize", "kinds/model.safetensors", "--platform", "onnxruntime_int8", "--weights", bits,
                          "--features", bits, "--out", "kinds_prepared"});
    workspace->expect(0, {"convert", "kinds_prepared", "--out", "kinds_integer"});
    const auto outcome = workspace->expect(
        0, {"verify", "--prepared", "kinds_prepared", "--integer", "kinds_integer", "--with", "onnxruntime", "--json"});
    EXPECT_EQ(outcome.json()["layers"].size(), 14U);
  }
}

TEST_F(Export, onnxruntime_gives_every_code) {
  NEEDS_ONNXRUNTIME();
  const auto equal = workspace->expect(0, {"verify", "quick", "--with", "onnxruntime", "--json"}).json();
  for (const auto& layer : equal["layers"]) {
    EXPECT_GT(layer["engine_compared"], 0);
    EXPECT_EQ(layer["engine_differing"], 0) << layer["name"];
  }
  const auto changed = workspace->expect(1, {"verify", "quick", "--with", "onnxruntime", "--inject", "conv4:17"});
  EXPECT_NE(changed.out.find("layer 'conv4': weight code 17"), std::string::npos) << changed.out;
}

}  // namespace
}  // namespace halfstep
