// Float fallbacks inside a quantized network: quantizers around them, conversion with and without permission, and
// verification of such networks.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/quant/convert/errors.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/training_graph.h"
#include "halfstep/verify/equivalence/errors.h"
#include "tests/equivalence/fixture.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

Prepared with_fallbacks(const std::string& platform = "generic_int8") {
  quant::PrepareOptions options;
  options.skip_layers = {"placed", "norm", "scores", "shares", "mixed", "answer"};
  return Prepared(platform, options, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/fallbacks.ir");
}

std::vector<std::string> names_of(const std::vector<quant::FloatFallback>& fallbacks) {
  std::vector<std::string> names;
  for (const auto& fallback : fallbacks) names.push_back(fallback.layer);
  return names;
}

// A5.22
TEST(Fallbacks, AreTheOperatorsWithoutAFormOnCodes) {
  EXPECT_EQ(names_of(quant::float_fallback(with_fallbacks().model)),
            (std::vector<std::string>{"placed", "norm", "scores", "shares", "mixed", "answer"}));
}

TEST(Fallbacks, GetQuantizersWhereCodesBegin) {
  const Prepared prepared = with_fallbacks();
  std::vector<std::string> quantized;
  for (const auto& q : prepared.model.graph.all<ops::FakeQuantize>()) {
    if (!q.x().is_tensor()) quantized.push_back(q.x().name());
  }
  EXPECT_EQ(quantized, (std::vector<std::string>{"x", "act", "mixed", "sum", "logits"}));
}

// A5.23
TEST(Fallbacks, AreRefusedByNameWithoutLeave) {
  const Prepared prepared = with_fallbacks();
  EXPECT_EQ(diagnostic_of([&] { quant::convert(prepared.model); }),
            errors::operators_cannot_become_integers("fallbacks",
                                                     "6 operators (add 'placed', layer_norm 'norm', matmul 'scores', "
                                                     "softmax 'shares', matmul 'mixed', softmax 'answer')"));
  EXPECT_EQ(kind_of([&] { quant::convert(prepared.model); }), ErrorKind::unsupported);
}

TEST(Fallbacks, AreTheOnlyFloatsOfAnIntegerProgram) {
  const auto conversion = quant::convert(with_fallbacks().model, {.float_fallback = true});
  EXPECT_EQ(conversion.fallbacks.size(), 6U);
  quant::require_program(conversion.model);
  Model without = conversion.model;
  without.metadata.float_operators.erase("answer");
  EXPECT_EQ(diagnostic_of([&] { quant::require_program(without); }).where.substr(0, 15), "fallbacks.ir:21");
}

class FallbacksOn : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ExecutionPaths, FallbacksOn,
                         testing::Values("generic_int8", "pow2_int8", "magik_t40", "onnxruntime_int8"),
                         [](const auto& name) { return std::string(name.param); });

// A5.23
TEST_P(FallbacksOn, BothPathsAreEqual) {
  Prepared prepared = with_fallbacks(GetParam());
  const auto conversion = quant::convert(prepared.model, {.float_fallback = true});
  const auto report = prepared.compare(api::paths_of(prepared.model, conversion.model));
  EXPECT_GE(report.layers.size(), 14U);  // a target that only shifts has factors of norms as layers
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << layer.layer.name;
  }
}

TEST(Fallbacks, AreExportedByLeaveAlone) {
  const Model integer = quant::convert(with_fallbacks("onnxruntime_int8").model, {.float_fallback = true}).model;
  formats::onnx::ExportOptions options{.form = formats::onnx::ExportForm::qoperator};
  EXPECT_EQ(diagnostic_of([&] { formats::onnx::export_model(integer, options, ""); }),
            errors::not_exact_in_form("fallbacks.ir:13: node 'placed'",
                                      "stays in float, where runtimes add in other orders", ""));
  options.approximate = true;
  EXPECT_EQ(formats::onnx::export_model(integer, options, "").report.approximated.size(), 6U);
}

TEST(Fallbacks, HaveNoBitsToSet) {
  Prepared prepared = with_fallbacks();
  EXPECT_EQ(diagnostic_of([&] { quant::set_bits(prepared.model, "shares", {}, 4); }),
            errors::layer_without_quantizer("shares", "softmax", "shares"));
  quant::set_bits(prepared.model, "*", {}, 4);
  EXPECT_EQ(quant::float_fallback(prepared.model).size(), 6U);
}

TEST(Fallbacks, AnotherNetworksProgramIsRefused) {
  Prepared prepared = with_fallbacks();
  const Prepared other("generic_int8");
  EXPECT_EQ(diagnostic_of([&] { prepared.compare(api::paths_of(prepared.model, quant::convert(other.model).model)); }),
            errors::program_does_not_match("layer 'conv'", "no value of that name in network 'digits'",
                                           "the integer program of 'fallbacks'"));
}

TEST(Fallbacks, WithoutAGradientAreSaidWithWhatToDo) {
  std::ifstream file(HALFSTEP_SOURCE_DIR "/tests/equivalence/fallbacks.ir");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string softmax = "answer = softmax";
  text.replace(text.find(softmax), softmax.size(), "answer = hardmax");
  const TemporaryFolder folder;
  const auto path = folder / "hard.ir";
  std::ofstream(path) << text;
  const Prepared prepared("generic_int8", {}, {}, path.string());
  const Diagnostic said = diagnostic_of([&] {
    train::training_graph(prepared.model, {{"x", {4, 1, 8, 8}}}, train::Loss::labels, {}, {});
  });
  EXPECT_EQ(said,
            placed(errors::layer_not_trainable("hard.ir:21: node 'answer'",
                                               "hardmax has no gradient: its result does not change with small changes "
                                               "of x"),
                   "answer", ""));
}

// A5.23
TEST(Fallbacks, ACorruptedConstantOfOneIsFound) {
  Prepared prepared = with_fallbacks();
  auto conversion = quant::convert(prepared.model, {.float_fallback = true});
  Tensor& scale = conversion.model.tensors.at("norm.scale");
  scale = scale.clone();
  scale.data<float>()[3] *= 1.0001F;
  const auto report = prepared.compare(api::paths_of(prepared.model, conversion.model));
  EXPECT_FALSE(report.equal());
  for (const auto& layer : report.layers) {
    if (!layer.activation) continue;
    EXPECT_EQ(layer.layer.name, "norm");
    EXPECT_EQ(layer.activation->position.back(), 3);
    break;
  }
}

}  // namespace
}  // namespace halfstep::test
