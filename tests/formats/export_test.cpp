// From our graphs to ONNX: the result of reading the file again, and refusals.
#include <gtest/gtest.h>

#include <deque>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "onnx.pb.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::name_of;
using test::bound;

/// A network whose tensors count up in steps of a fraction of one.
Model network(const std::string& text) {
  Model model;
  model.graph = halfstep::parse(text, "network.ir");
  float next = -1.0F;
  for (const Value value : model.graph.tensors()) {
    Tensor tensor(value.dtype(), value.dims());
    for (float& element : tensor.data<float>()) element = next = next > 1.0F ? -1.0F : next + 0.0625F;
    model.tensors[value.name()] = tensor;
  }
  return model;
}

const char* const kNetwork = R"(
graph small(picture: f32[?, 2, 6, 6]) {
  param @conv.w: f32[4, 2, 3, 3]
  param @conv.b: f32[4]
  param @head.w: f32[3, 4]
  conv = conv2d(x=picture, w=@conv.w, b=@conv.b) {pad: [1, 1, 1, 1], stride: [2, 2]}
  act = relu6(x=conv)
  gate = sigmoid(x=act)
  both = mul(a=act, b=gate)
  pool = avg_pool2d(x=both) {kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1]}
  mean = reduce_mean(x=pool) {axes: [2, 3]}
  head = linear(x=mean, w=@head.w)
  flat = reshape(x=head) {dims: [-1, 3]}
  return scores = flat
}
)";

Model reimported(const Model& model, const ExportOptions& options) {
  static std::deque<std::string> kept;  // parsed files do not own their bytes
  kept.push_back(export_model(model, options, "none").message);
  return parse(std::as_bytes(std::span(kept.back())), "m.onnx")->import(bound());
}

std::map<std::string, Tensor> run(const Model& model, const Tensor& x) {
  const std::string& input = model.graph.arguments().front().name();
  ThreadPool pool(1);
  return compile(specialize(model, {{input, x.dims()}}), {}).run({{input, x}}, pool);
}

Tensor picture() {
  Tensor x(DType::f32, {3, 2, 6, 6});
  float next = 0.0F;
  for (float& element : x.data<float>()) element = next = next > 2.0F ? -2.0F : next + 0.37F;
  return x;
}

class EveryOpset : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Export, EveryOpset, testing::Range<int64_t>(kOldestExportOpset, 22));

TEST_P(EveryOpset, a_float_network_comes_back) {
  const Model model = network(kNetwork);
  const Model back = reimported(model, {.opset = GetParam()});
  EXPECT_EQ(back.graph.arguments().front().name(), "picture");
  EXPECT_EQ(back.graph.body().output_names().front(), "scores");
  EXPECT_TRUE(back.graph.op("conv") && back.graph.op("gate"));
  EXPECT_TRUE(run(back, picture()).at("scores").same_bits(run(model, picture()).at("scores")));
}

/// An attribute that its record entry treats as absent is omitted, and so is an empty list. Lists of floats become
/// inputs.
TEST(Export, attributes_that_are_inputs_of_onnx) {
  const Model model = network(R"(
graph g(x: f32[1, 2, 4, 4]) {
  wide = resize(x=x) {mode: "nearest", coordinates: "asymmetric", nearest_mode: "floor", scales: [1.0, 1.0, 2.0, 2.0]}
  exact = gelu(x=wide)
  fast = gelu(x=exact) {approximate: true}
  sum = reduce_sum(x=fast) {axes: [], keep_dims: true}
  return sum
}
)");
  Tensor x(DType::f32, {1, 2, 4, 4});
  for (size_t i = 0; i < 32; ++i) x.data<float>()[i] = static_cast<float>(i) / 16.0F - 1.0F;
  for (const int64_t opset : {13, 21})
    EXPECT_TRUE(run(reimported(model, {.opset = opset}), x).at("sum").same_bits(run(model, x).at("sum"))) << opset;
}

TEST(Export, windows_over_three_axes_and_transposed_products) {
  const Model model = network(R"(
graph g(x: f32[1, 2, 5, 6, 7]) {
  param @w: f32[4, 1, 2, 1, 2]
  param @b: f32[4]
  conv = conv(x=x, w=@w, b=@b) {groups: 2, stride: [1, 2, 1], pad: [1, 0, 0, 0, 1, 0], dilation: [1, 1, 2]}
  highest = max_pool(x=conv) {kernel: [2, 2, 2], stride: [2, 1, 2], ceil_mode: true, dilation: [1, 1, 1]}
  mean = average_pool(x=highest) {kernel: [1, 2, 1], pad: [0, 1, 0, 0, 0, 0], count_include_pad: true}
  product = matmul(a=mean, b=mean) {transpose_a: true}
  both = matmul(a=product, b=mean) {transpose_b: true}
  return both
}
)");
  Tensor x(DType::f32, {1, 2, 5, 6, 7});
  for (size_t i = 0; i < 420; ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 101) / 64.0F - 0.75F;
  for (const int64_t opset : {13, 18, 21})
    EXPECT_TRUE(run(reimported(model, {.opset = opset}), x).at("both").same_bits(run(model, x).at("both"))) << opset;
}

/// Words that ONNX spells differently: auto_pad in capitals, modes of GridSample that opset 20 renamed.
TEST(Export, words_are_those_of_the_opset) {
  const auto written = [](const std::string& inputs, const std::string& line, int64_t opset) {
    const Model model = network("graph g(" + inputs + ") {\n  y = " + line + "\n  return y\n}\n");
    proto::Model message;
    EXPECT_TRUE(message.ParseFromString(export_model(model, {.opset = opset}, "none").message));
    std::string words;
    for (const proto::NodeAttribute& a : message.graph().node(0).attribute()) words += a.s();
    return words;
  };
  const std::string sampled = "x: f32[1, 2, 4, 4], grid: f32[1, 3, 3, 2]";
  const auto mode = [](const std::string& word) { return "grid_sample(x=x, grid=grid) {mode: \"" + word + "\"}"; };
  EXPECT_EQ(written(sampled, mode("linear"), 16), "bilinear");
  EXPECT_EQ(written(sampled, mode("bicubic"), 19), "bicubic");
  EXPECT_EQ(written(sampled, mode("bicubic"), 20), "cubic");
  EXPECT_EQ(written(sampled, mode("nearest"), 16), "nearest");
  EXPECT_EQ(written("x: f32[1, 2, 4, 4]", "lp_pool(x=x) {kernel: [2, 2], auto_pad: \"same_lower\"}", 18), "SAME_LOWER");
}

TEST(Export, is_the_same_to_the_byte) {
  const Model model = network(kNetwork);
  EXPECT_EQ(export_model(model, {}, "d").message, export_model(model, {}, "d").message);
}

TEST(Export, an_output_that_is_an_input_or_stands_twice_gets_a_node) {
  const Model model = network("graph g(x: f32[2]) {\n  y = relu(x=x)\n  return same = x, a = y, b = y\n}\n");
  const auto file = export_model(model, {}, "d");
  EXPECT_EQ(file.report.nodes, 3);
  const Model back = reimported(model, {});
  EXPECT_EQ(back.graph.body().output_names(), (std::vector<std::string>{"same", "a", "b"}));
}

TEST(Export, large_tensors_get_a_file_of_their_own) {
  const halfstep::test::TemporaryFolder folder;
  Model model =
      network("graph g(x: f32[2, 300]) {\n  param @w: f32[4, 300]\n  y = linear(x=x, w=@w)\n  return y = y\n}\n");
  const auto path = folder.path() / "m.onnx";
  export_file(model, {.external_above = 4000}, path);
  EXPECT_LT(std::filesystem::file_size(path), 1000U);
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "m.onnx.data"), 4800U);
  const Model back = open(path)->import(bound());
  EXPECT_EQ(back.graph.arguments().size(), 1U);
  ASSERT_EQ(back.tensors.size(), 1U);
  EXPECT_TRUE(back.tensors.begin()->second.same_bits(model.tensors.at("w")));
}

/// The error names the operator and the first opset that has it.
TEST(Export, an_operator_newer_than_the_opset_is_refused) {
  const auto refusal = [](const std::string& line, int64_t opset) {
    const Model model =
        network("graph g(x: f32[2, 4, 3], s: f32[4], p: f32[2]) {\n  y = " + line + "\n  return y\n}\n");
    return diagnostic_of([&] { export_model(model, {.opset = opset}, "d"); });
  };
  const std::string where = "network.ir:2: node 'y'";
  EXPECT_EQ(refusal("hard_swish(x=x)", 13), errors::needs_other_opset(where, "hard_swish", 13, 14, "newer"));
  EXPECT_EQ(refusal("hard_swish(x=x)", 14), Diagnostic());
  EXPECT_EQ(refusal("mish(x=x)", 17), errors::needs_other_opset(where, "mish", 17, 18, "newer"));
  const std::string resize = "resize(x=x) {sizes: [6], axes: [1]}";
  EXPECT_EQ(refusal(resize, 17), errors::needs_other_opset(where, "resize", 17, 18, "newer"));
  EXPECT_EQ(refusal(resize, 18), Diagnostic());
  const std::string group = "group_norm(x=x, scale=s, bias=s) {num_groups: 2}";
  EXPECT_EQ(refusal(group, 20), errors::needs_other_opset(where, "group_norm", 20, 21, "newer"));
  EXPECT_EQ(refusal(group, 21), Diagnostic());
  const std::string groups = "group_norm(x=x, scale=p, bias=p) {num_groups: 2}";
  EXPECT_EQ(refusal(groups, 20), Diagnostic());
  EXPECT_EQ(refusal(groups, 21),
            errors::needs_other_opset(where, "group_norm with a scale for each group", 21, 20, "older"));
}

TEST(Export, outputs_are_added_to_a_file) {
  const halfstep::test::TemporaryFolder folder;
  const Model model = network("graph g(x: f32[2]) {\n  a = relu(x=x)\n  b = sigmoid(x=a)\n  return b\n}\n");
  export_file(model, {}, folder / "plain.onnx");
  export_file(model, {.outputs = {"a"}}, folder / "more.onnx");
  add_outputs(folder / "plain.onnx", folder / "more.onnx");
  EXPECT_EQ(open(folder / "more.onnx")->import(bound()).graph.body().output_names(),
            (std::vector<std::string>{"b", "a"}));
  export_file(network("graph g(x: f32[2]) {\n  b = relu(x=x)\n  return b\n}\n"), {}, folder / "other.onnx");
  EXPECT_EQ(diagnostic_of([&] { add_outputs(folder / "other.onnx", folder / "more.onnx"); }),
            errors::value_not_in_export((folder / "other.onnx").string(), "a"));
  EXPECT_EQ(diagnostic_of([&] { export_model(model, {.outputs = {"gone"}}, "d"); }), errors::no_such_output("gone"));
  export_file(network("graph g(x: f32[2]) {\n  param @c: f32[1024, 2]\n  b = add(a=x, b=@c)\n  return b\n}\n"),
              {.external_above = 0}, folder / "outside.onnx");
  EXPECT_EQ(name_of([&] { add_outputs(folder / "outside.onnx", folder / "more.onnx"); }), "tensor_in_other_file");
}

TEST(Export, what_it_cannot_say_is_refused) {
  const Model other = network("graph g(x: f32[2, 3]) {\n  y = reshape_like(x=x, like=x)\n  return y = y\n}\n");
  EXPECT_EQ(name_of([&] { export_model(other, {}, "d"); }), "no_onnx_form");
  const Model model = network(kNetwork);
  EXPECT_EQ(diagnostic_of([&] { export_model(model, {.opset = 12}, "d"); }),
            errors::export_opset_out_of_range(12, 13, 25));
  EXPECT_EQ(diagnostic_of([&] { export_model(model, {.form = ExportForm::qdq}, "d"); }),
            errors::export_not_integer("small"));
  const Model step = network(
      "graph g(x: f32[2, 3], y: f32[4], go: bool[]) {\n r = backward(cond=go, values=[x, x, y]) {states: 1, scanned: "
      "0, "
      "carried: 1, rows: 1} region step(a: f32[2, 3]) { m = is_nan(x=a) n = reduce_max(x=m) {keep_dims: false} return "
      "n, "
      "a } region back(b: f32[2, 3], c: f32[2, 3], d: f32[]) { e = mul(a=c, b=d) return e }\n return r }");
  EXPECT_EQ(name_of([&] { export_model(step, {}, "d"); }), "export_training_step");
}

/// Codes that ONNX operators on codes do not accept, and a layer that ONNX does not have.
TEST(Export, codes_without_operators_are_refused) {
  const auto refusal = [](const std::string& codes, const std::string& layer) {
    Model model;
    model.graph = halfstep::parse(
        "graph g(x: f32[1, 2]) {\n  const @s: f32[1]\n  const @z: i32[1]\n  param @w: i8[2, 2]\n  param @b: i32[2]\n"
        "  const @n: i32[2]\n  q = quantize(x=x, scale=@s, zero_point=@z) {" +
            codes + "}\n  t = integer_linear(x=q, w=@w, b=@b" + layer +
            "\n  y = dequantize(x=t, scale=@s, zero_point=@z)\n  return y\n}\n",
        "codes.ir");
    for (const Value value : model.graph.tensors()) model.tensors[value.name()] = Tensor(value.dtype(), value.dims());
    return name_of([&] { export_model(model, {.form = ExportForm::qoperator, .approximate = true}, "d"); });
  };
  EXPECT_EQ(refusal("code_type: \"i8\", code_min: -128, code_max: 127", ", w_scale=@s) {requantize: \"float32\"}"),
            "export_codes_not_u8");
  EXPECT_EQ(refusal("", ", multiplier=@n, shift=@n, negative_multiplier=@n, negative_shift=@n)"), "export_leaky_layer");
}

}  // namespace
}  // namespace halfstep::formats::onnx
