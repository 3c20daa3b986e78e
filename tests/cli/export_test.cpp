// `halfstep export`, and onnxruntime as a third execution path of `halfstep verify`.
#include <gtest/gtest.h>

#include <cstdlib>

#include "halfstep/api/errors.h"
#include "halfstep/core/machine/cpu.h"
#include "onnx.pb.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

/// Every kind of layer that onnxruntime_int8 accepts, with tables, a product and a shared scale.
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
  a = avg_pool2d(x=p) {kernel: [3, 2], stride: [1, 2], pad: [1, 0, 1, 0]}
  b = avg_pool2d(x=a) {kernel: [2, 2], stride: [1, 1], pad: [1, 0, 1, 1], count_include_pad: false}
  e = global_avg_pool(x=b)
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
  const auto error = [](const std::map<std::string, std::string>& environment) {
    return workspace->error(3, {"verify", "quick", "--backend", "onnxruntime"}, environment);
  };
  const Diagnostic found = error({{"HALFSTEP_PYTHON", "/nowhere/python"}});
  if (detected_cpu_level() >= CpuLevel::vnni) {
    EXPECT_EQ(found.entry, &errors::onnxruntime_unavailable_entry);
    EXPECT_EQ(found.where, "/nowhere/python");
  } else {  // reports the error before it looks for Python
    EXPECT_EQ(found, errors::processor_without_exact_sums(name(detected_cpu_level())));
  }
  workspace->expect(2, {"verify", "quick", "--backend", "openvino"});
}

/// Creates a script that stands in for Python.
std::string fake_python(Workspace& workspace, const std::string& name, const std::string& script) {
  test::write_text(workspace / name, "#!/bin/sh\n" + script);
  std::filesystem::permissions(workspace / name, std::filesystem::perms::owner_all);
  return (workspace / name).string();
}

TEST_F(Export, another_onnxruntime_or_one_that_ends_is_said) {
  if (detected_cpu_level() < CpuLevel::vnni) GTEST_SKIP() << "no VNNI";
  const auto said = [&](const std::string& name, const std::string& script) {
    return workspace->error(3, {"verify", "quick", "--backend", "onnxruntime"},
                            {{"HALFSTEP_PYTHON", fake_python(*workspace, name, script)}});
  };
  const auto path = [&](const std::string& name) { return (*workspace / name).string(); };
  EXPECT_EQ(said("old", "echo 1.30.0"),
            errors::onnxruntime_of_other_version(path("old"), "1.30.0", "1.31.* or 1.32.*"));
  EXPECT_EQ(said("absent", "echo \"No module named 'onnxruntime'\" >&2; exit 1"),
            errors::onnxruntime_unavailable(path("absent"), "No module named 'onnxruntime'"));
  EXPECT_EQ(said("dies", "echo 1.31.1; read line; echo boom >&2"), errors::onnxruntime_failed(path("dies"), "boom"));
  EXPECT_EQ(said("silent", "echo 1.31.1").entry, &errors::onnxruntime_failed_entry);
  workspace->expect(2, {"verify", "quick", "--variants"});
}

TEST_F(Export, nodes_are_listed) {
  workspace->expect(0, {"export", "quick/integer.safetensors", "--format", "qoperator", "--out", "list.onnx"});
  const auto text = workspace->expect(0, {"inspect", "list.onnx", "--nodes"}).out;
  EXPECT_NE(text.find("QLinearConv 'conv1': "), std::string::npos) << text;
  const auto json = workspace->expect(0, {"inspect", "list.onnx", "--nodes", "--json"}).json();
  EXPECT_EQ(json["graph"][0]["op"], "QuantizeLinear");
  EXPECT_EQ(json["graph"][0]["inputs"][0], "x");
}

#define NEEDS_ONNXRUNTIME()                      \
  if (std::getenv("HALFSTEP_PYTHON") == nullptr) \
  GTEST_SKIP() << "no HALFSTEP_PYTHON: name a Python that has onnxruntime there"

TEST_F(Export, onnxruntime_gives_every_code_of_every_kind_of_layer) {
  NEEDS_ONNXRUNTIME();
  test::write_text(*workspace / "kinds.ir", kKinds);
  workspace->expect(0, {"train", "--network", "kinds.ir", "--epochs", "2", "--out", "kinds"});
  for (const std::string bits : {"8", "4"}) {
    workspace->expect(0, {"quantize", "kinds/model.safetensors", "--platform", "onnxruntime_int8", "--weight-bits",
                          bits, "--activation-bits", bits, "--out", "kinds_prepared", "--overwrite"});
    workspace->expect(0, {"convert", "kinds_prepared", "--out", "kinds_integer", "--overwrite"});
    const auto outcome = workspace->expect(0, {"verify", "--prepared", "kinds_prepared", "--integer", "kinds_integer",
                                               "--backend", "onnxruntime", "--json"});
    EXPECT_EQ(outcome.json()["layers"].size(), 16U);
  }
}

TEST_F(Export, onnxruntime_gives_every_code) {
  NEEDS_ONNXRUNTIME();
  const auto equal = workspace->expect(0, {"verify", "quick", "--backend", "onnxruntime", "--json"}).json();
  for (const auto& layer : equal["layers"]) {
    EXPECT_GT(layer["engine_compared"], 0);
    EXPECT_EQ(layer["engine_differing"], 0) << layer["name"];
  }
  const auto changed = workspace->expect(1, {"verify", "quick", "--backend", "onnxruntime", "--inject", "conv4:17"});
  EXPECT_NE(changed.out.find("layer 'conv4': weight code 17"), std::string::npos) << changed.out;
}

/// Flips the top bit of a weight code in an exported file.
void flip(const std::filesystem::path& path, const std::string& layer, size_t index) {
  formats::onnx::proto::Model model;
  ASSERT_TRUE(model.ParseFromString(test::read_text(path)));
  constexpr int kWeight = 3;  // index among the inputs of QLinearConv
  std::string weight;
  for (const auto& node : model.graph().node()) {
    if (node.name() == layer) weight = node.input(kWeight);
  }
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == weight) tensor.mutable_raw_data()->at(index) ^= char{-128};
  }
  test::write_text(path, model.SerializeAsString());
}

TEST_F(Export, one_changed_code_of_an_exported_file_is_found) {
  NEEDS_ONNXRUNTIME();
  workspace->expect(0, {"export", "quick/integer.safetensors", "--format", "qoperator", "--out", "given.onnx"});
  const std::vector<std::string> verify = {"verify", "quick", "--backend", "onnxruntime", "--exported", "given.onnx"};
  workspace->expect(0, verify);
  flip(*workspace / "given.onnx", "conv4", 17);
  const auto changed = workspace->expect(1, verify);
  EXPECT_NE(changed.out.find("first differing activation: layer 'conv4': activation code "), std::string::npos)
      << changed.out;
  EXPECT_NE(changed.out.find(", engine "), std::string::npos) << changed.out;
  workspace->expect(0, {"export", "quick/float.safetensors", "--out", "given.onnx", "--overwrite"});
  const auto found = workspace->errors(2, verify);
  for (const char* value : {"given.onnx", "'x.q'"}) EXPECT_TRUE(test::mentions(found, value)) << value;
}

TEST_F(Export, variants_are_reported) {
  NEEDS_ONNXRUNTIME();
  const auto report =
      workspace->expect(0, {"verify", "quick", "--backend", "onnxruntime", "--variants", "--json"}).json();
  ASSERT_EQ(report["variants"].size(), 5U);
  for (const auto& variant : report["variants"]) {
    EXPECT_GT(variant["compared"], 0);
    EXPECT_LT(variant["differing"], variant["compared"].get<int64_t>() / 100) << variant["name"];
  }
}

}  // namespace
}  // namespace halfstep
