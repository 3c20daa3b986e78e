// Integer programs as ONNX files: read again, they produce the program's codes.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/formats/vendor/errors.h"
#include "halfstep/formats/vendor/ranges.h"
#include "halfstep/passes/optimize/channels_last.h"
#include "onnx.pb.h"
#include "tests/equivalence/fixture.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

using formats::onnx::ExportForm;
using formats::onnx::ExportOptions;

/// The remedy that is better than an approximation.
constexpr const char* kInstead = ", or convert for onnxruntime_int8";

std::vector<std::string> layers_of(const verify::ExecutionPaths& paths) {
  std::vector<std::string> names;
  for (const auto& layer : paths.layers) names.push_back(layer.name);
  return names;
}

/// Values of a network, by name.
std::map<std::string, Tensor> run(const Model& model, const std::vector<std::string>& fetch, const Tensor& x) {
  CompileOptions options;
  options.fetch = fetch;
  ThreadPool pool(2);
  return compile(specialize(model, {{"x", x.dims()}}), options).run({{"x", x}}, pool);
}

/// Reads the exported file again and runs it on x. Returns every output.
std::map<std::string, Tensor> run_exported(const formats::onnx::ExportedFile& file, const Tensor& x) {
  formats::Binding binding;
  binding.evaluate = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return eager::call(info, attributes, operands);
  };
  return run(formats::onnx::parse(std::as_bytes(std::span(file.message)), "m.onnx")->import(binding), {}, x);
}

int64_t differing(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dims(), b.dims());
  int64_t count = 0;
  for (size_t i = 0; i < a.data<uint8_t>().size(); ++i) count += a.data<uint8_t>()[i] != b.data<uint8_t>()[i] ? 1 : 0;
  return count;
}

class EveryWidth : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Export, EveryWidth, testing::Values(8, 4));

// A4.6, A9.4
TEST_P(EveryWidth, OperatorsOnCodesGiveTheCodesOfEveryLayer) {
  Prepared prepared("onnxruntime_int8", {GetParam(), GetParam(), {}});
  const Model integer = quant::convert(prepared.model).model;
  const auto layers = layers_of(api::paths_of(prepared.model, integer));
  ExportOptions options{.form = ExportForm::qoperator, .opset = 13};
  options.outputs = layers;
  const auto file = formats::onnx::export_model(integer, options, "");
  EXPECT_TRUE(file.report.approximated.empty());
  const Tensor x = prepared.parts.test.inputs(0, 50).at("x");
  const auto codes = run(integer, layers, x);
  const auto again = run_exported(file, x);
  ASSERT_EQ(again.size(), layers.size() + 1);
  for (const std::string& layer : layers) EXPECT_EQ(differing(codes.at(layer), again.at(layer)), 0) << layer;
}

TEST_P(EveryWidth, FloatOperatorsBetweenCodesGiveNearlyThoseCodes) {
  Prepared prepared("onnxruntime_int8", {GetParam(), GetParam(), {}});
  const Model integer = quant::convert(prepared.model).model;
  const Tensor x = prepared.parts.test.inputs(0, 50).at("x");
  const auto codes = run(integer, {"conv1", "head"}, x);
  for (const int64_t opset : {13, 19, 21, 25}) {
    ExportOptions options{.form = ExportForm::qdq, .opset = opset};
    options.outputs = {"conv1", "head"};
    const auto again = run_exported(formats::onnx::export_model(integer, options, ""), x);
    EXPECT_LE(differing(codes.at("conv1"), again.at("conv1")), codes.at("conv1").size() / 1000) << opset;
    EXPECT_LE(differing(codes.at("head"), again.at("head")), codes.at("head").size() / 10) << opset;
  }
}

/// Tables, a shared scale, and a clamp that saturation does not imply.
// A5.1, A5.21, A7.1
TEST(Export, TablesAndMovesStayExact) {
  const TemporaryFolder folder;
  const std::string path = (folder / "n.ir").string();
  std::ofstream(path) << R"(
graph n(x: f32[?, $channels, $height, $width]) {
  param @a.w: f32[8, $channels, 3, 3]
  param @b.w: f32[8, 8, 1, 1]
  param @head.w: f32[$classes, 18]
  a = conv2d(x=x, w=@a.w) {pad: [1, 1, 1, 1]}
  six = relu6(x=a)
  gate = sigmoid(x=six)
  b = conv2d(x=gate, w=@b.w)
  leaky = leaky_relu(x=b) {alpha: 0.5}
  padded = pad(x=leaky) {pads: [0, 1, 0, 0, 0, 1, 0, 0]}
  both = concat(x=[padded, six])
  pool = max_pool2d(x=both) {kernel: [3, 3], stride: [2, 2], pad: [1, 1, 1, 1]}
  mean = global_avg_pool(x=pool)
  flat = flatten(x=mean)
  head = linear(x=flat, w=@head.w)
  return head
}
)";
  Prepared prepared("onnxruntime_int8", {}, {}, path);
  const Model integer = quant::convert(prepared.model).model;
  const auto paths = api::paths_of(prepared.model, integer);
  EXPECT_TRUE(prepared.compare(paths).equal());
  ExportOptions options{.form = ExportForm::qoperator};
  options.outputs = layers_of(paths);
  options.outputs.pop_back();  // the network's output, whose float values have its name
  const Tensor x = prepared.parts.test.inputs(0, 20).at("x");
  const auto codes = run(integer, options.outputs, x);
  const auto zero = integer.tensors.at("padded.fill").data<uint8_t>()[0];
  EXPECT_GT(zero, 0);
  EXPECT_EQ(codes.at("padded").data<uint8_t>()[0], zero);
  const auto again = run_exported(formats::onnx::export_model(integer, options, ""), x);
  for (const std::string& layer : options.outputs) EXPECT_EQ(differing(codes.at(layer), again.at(layer)), 0) << layer;
}

const char* const kFunctions = R"(
graph n(x: f32[?, $channels, $height, $width]) {
  param @a.w: f32[8, $channels, 3, 3]
  param @b.w: f32[8, 8, 1, 1]
  param @head.w: f32[$classes, 8]
  a = conv2d(x=x, w=@a.w) {pad: [1, 1, 1, 1]}
  gate = sigmoid(x=a)
  b = conv2d(x=gate, w=@b.w)
  leaky = leaky_relu(x=b) {alpha: 0.125}
  mean = global_avg_pool(x=leaky)
  flat = flatten(x=mean)
  head = linear(x=flat, w=@head.w)
  return head
}
)";

int64_t count(const formats::onnx::ExportedFile& file, const std::string& op) {
  const auto operators = formats::onnx::parse(std::as_bytes(std::span(file.message)), "m.onnx")->summary().operators;
  return operators.contains(op) ? operators.at(op) : 0;
}

/// A function on codes replaces a table only where it reproduces every code of the table.
// A9.6
TEST(Export, ATableOfAFunctionIsThatFunctionOfTheEngine) {
  const TemporaryFolder folder;
  const std::string path = (folder / "n.ir").string();
  std::ofstream(path) << kFunctions;
  Prepared prepared("onnxruntime_int8", {}, {}, path);
  Model integer = quant::convert(prepared.model).model;
  ExportOptions options{.form = ExportForm::qoperator, .outputs = {"gate", "leaky"}, .evaluate = eager::call};
  const Tensor x = prepared.parts.test.inputs(0, 20).at("x");
  for (const bool changed : {false, true}) {
    if (changed) integer.tensors.at("gate.table").data<uint8_t>()[9] ^= 1U;
    const auto file = formats::onnx::export_model(integer, options, "");
    EXPECT_EQ(count(file, "com.microsoft.QLinearSigmoid"), changed ? 0 : 1);
    EXPECT_EQ(count(file, "Gather"), changed ? 1 : 0);
    EXPECT_EQ(count(file, "com.microsoft.QLinearLeakyRelu"), 1);
    const auto codes = run(integer, options.outputs, x);
    const auto again = run_exported(file, x);
    for (const std::string& layer : options.outputs) EXPECT_EQ(differing(codes.at(layer), again.at(layer)), 0) << layer;
  }
  options.form = ExportForm::qdq;
  EXPECT_EQ(count(formats::onnx::export_model(integer, options, ""), "LeakyRelu"), 1);
  options.evaluate = nullptr;
  EXPECT_EQ(count(formats::onnx::export_model(integer, options, ""), "Gather"), 2);
}

/// Weights use the narrowest type that the opset has and an engine accepts.
TEST(Export, NarrowWeightsArePacked) {
  Prepared prepared("onnxruntime_int8", {2, 8, {}});
  const Model integer = quant::convert(prepared.model).model;
  const Tensor x = prepared.parts.test.inputs(0, 50).at("x");
  const auto codes = run(integer, {"conv2"}, x);
  std::vector<size_t> sizes;
  for (const int64_t opset : {19, 21, 25}) {
    const ExportOptions options{.form = ExportForm::qdq, .opset = opset, .outputs = {"conv2"}};
    const auto file = formats::onnx::export_model(integer, options, "");
    sizes.push_back(file.message.size());
    EXPECT_LE(differing(codes.at("conv2"), run_exported(file, x).at("conv2")), codes.at("conv2").size() / 1000)
        << opset;
  }
  EXPECT_GT(sizes[0], sizes[1]);
  EXPECT_EQ(sizes[1], sizes[2]);
}

TEST(Export, AChangedWeightCodeIsFound) {
  Prepared prepared("onnxruntime_int8");
  Model integer = quant::convert(prepared.model).model;
  const Tensor x = prepared.parts.test.inputs(0, 20).at("x");
  const auto codes = run(integer, {"conv4"}, x);
  verify::inject(integer, "conv4:17");
  ExportOptions options{.form = ExportForm::qoperator};
  options.outputs = {"conv4"};
  EXPECT_GT(
      differing(codes.at("conv4"), run_exported(formats::onnx::export_model(integer, options, ""), x).at("conv4")), 0);
}

/// Scales and biases of PyTorch's engines are exported. Only the order of the arithmetic differs.
TEST(Export, AnEngineOfPyTorchIsNearlyKept) {
  Prepared prepared("pytorch_fbgemm", {}, {{"rounding.method", "divide"}});
  const Model integer = quant::convert(prepared.model).model;
  const Tensor x = prepared.parts.test.inputs(0, 50).at("x");
  const auto codes = run(integer, {"conv1"}, x);
  for (const ExportForm form : {ExportForm::qoperator, ExportForm::qdq}) {
    ExportOptions options{.form = form};
    options.outputs = {"conv1"};
    const Diagnostic refusal = diagnostic_of([&] { formats::onnx::export_model(integer, options, ""); });
    EXPECT_EQ(refusal, errors::not_exact_in_form(refusal.where, "requantizes by fbgemm", kInstead));
    options.approximate = true;
    const auto again = run_exported(formats::onnx::export_model(integer, options, ""), x);
    EXPECT_LE(differing(codes.at("conv1"), again.at("conv1")), codes.at("conv1").size() / 200);
  }
}

TEST(Export, AnotherArithmeticIsRefusedUnlessApproximated) {
  Prepared prepared("generic_int8");
  const Model integer = quant::convert(prepared.model).model;
  ExportOptions options{.form = ExportForm::qoperator};
  const Diagnostic refusal = diagnostic_of([&] { formats::onnx::export_model(integer, options, ""); });
  EXPECT_EQ(refusal, errors::not_exact_in_form(refusal.where, "requantizes by fixed_point", kInstead));
  options.approximate = true;
  options.outputs = {"head"};
  const auto file = formats::onnx::export_model(integer, options, "");
  EXPECT_EQ(file.report.approximated.size(), 8U);  // five convolutions, the sum, the mean, the head
  const Tensor x = prepared.parts.test.inputs(0, 50).at("x");
  const auto codes = run(integer, {"head"}, x);
  EXPECT_LE(differing(codes.at("head"), run_exported(file, x).at("head")), codes.at("head").size() / 20);
}

TEST(Export, ImagesWhoseChannelsAreTheLastAxisAreRefused) {
  const Prepared prepared("onnxruntime_int8");
  const Dims images = prepared.parts.test.inputs(0, 2).at("x").dims();
  Model integer = specialize(quant::convert(prepared.model).model, {{"x", images}});
  passes::channels_last_codes(integer);
  EXPECT_EQ(name_of([&] { formats::onnx::export_model(integer, {.form = ExportForm::qdq}, ""); }),
            "export_channels_last");
  EXPECT_EQ(name_of([&] { formats::c::c_program(integer, {.name = "net"}); }), "c_compiled_program");
}

/// Files for vendors' tools contain the observed ranges.
TEST(Export, RangesOfQuantizersThatSawNothingAreRefused) {
  const Prepared prepared("generic_int8");
  Model model = prepared.model;
  for (auto& [name, tensor] : model.tensors) {
    if (!name.ends_with(".low") && !name.ends_with(".high")) continue;
    tensor = tensor.clone();
    for (float& end : tensor.data<float>()) end = name.ends_with(".low") ? 1 : -1;
  }
  const Diagnostic refusal = diagnostic_of([&] { formats::vendor::ranges_of(model); });
  EXPECT_EQ(refusal.entry, &errors::tensor_without_range_entry);
}

TEST(Export, TheVerbChoosesByTheStageOfTheModel) {
  const TemporaryFolder folder;
  Prepared prepared("generic_int8");
  const Model integer = quant::convert(prepared.model).model;
  const auto exported = [&](const Model& model, api::ExportFormat format, bool approximate = false) {
    return api::export_onnx(model, folder / "m.onnx", {.format = format, .approximate = approximate});
  };
  EXPECT_TRUE(exported(prepared.model, api::ExportFormat::float_).approximated.empty());
  EXPECT_EQ(name_of([&] { exported(integer, api::ExportFormat::float_); }), "wrong_stage");
  EXPECT_EQ(kind_of([&] { exported(prepared.model, api::ExportFormat::qdq); }), ErrorKind::unsupported);
  EXPECT_EQ(exported(prepared.model, api::ExportFormat::qdq, true).approximated.size(), 8U);
  EXPECT_EQ(name_of([&] { exported(prepared.model, api::ExportFormat::deploy); }), "not_a_choice");
}

/// The metadata name a function and its numbers. If they are wrong, the table still decides.
TEST(Export, AWrongOriginOfATableChangesNoCode) {
  const TemporaryFolder folder;
  std::ofstream(folder / "table.ir") << "graph table(x: f32[?, $channels, $height, $width]) {\n"
                                        "  param @w: f32[$classes, 64]\n  flat = flatten(x)\n"
                                        "  head = linear(flat, w=@w)\n  share = sigmoid(head)\n  return y = share\n}\n";
  const Prepared prepared("onnxruntime_int8", {}, {}, (folder / "table.ir").string());
  Model integer = quant::convert(prepared.model).model;
  ASSERT_TRUE(integer.metadata.tables.contains("share"));
  const Tensor x = prepared.parts.test.inputs(0, 20).at("x");
  const auto codes = run(integer, {"share"}, x);
  for (const TableOrigin& origin : {TableOrigin{"sigmoid", 0.5, 0.1F, 3, 0.004F, 0},
                                    {"leaky_relu", 0.5, 0.1F, 3, 0.004F, 0},
                                    {"sigmoid", 0, 0.1F, 4000, 0.004F, -4000},
                                    {"linear", 1, 1, 1, 1, 1},
                                    {"sigmoid"}}) {
    integer.metadata.tables["share"] = origin;
    ExportOptions options{.form = ExportForm::qoperator, .evaluate = eager::call};
    options.outputs = {"share"};
    EXPECT_EQ(
        differing(codes.at("share"), run_exported(formats::onnx::export_model(integer, options, ""), x).at("share")), 0)
        << origin.function << " " << origin.x_zero_point;
  }
}

/// Runtimes refuse a file with two nodes of one name. Here the codes of x are dequantized twice, for the layer and for
/// an output.
TEST(Export, EveryNodeHasANameOfItsOwn) {
  const TemporaryFolder folder;
  std::ofstream(folder / "both.ir") << "graph both(x: f32[?, $channels, $height, $width]) {\n"
                                       "  param @w: f32[$classes, 64]\n  flat = flatten(x)\n"
                                       "  head = linear(flat, w=@w)\n  return head, flat\n}\n";
  const Prepared prepared("onnxruntime_int8", {}, {}, (folder / "both.ir").string());
  const Model integer = quant::convert(prepared.model).model;
  formats::onnx::proto::Model file;
  ASSERT_TRUE(file.ParseFromString(formats::onnx::export_model(integer, {.form = ExportForm::qdq}, "").message));
  std::set<std::string> names;
  for (const auto& node : file.graph().node()) EXPECT_TRUE(names.insert(node.name()).second) << node.name();
}

}  // namespace
}  // namespace halfstep::test
