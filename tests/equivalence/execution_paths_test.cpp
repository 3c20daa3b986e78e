// Bit-exactness, and proof that the comparison can fail: every kind of corruption in either execution path must be
// found.
#include <gtest/gtest.h>

#include "halfstep/core/base/element_values.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/verify/equivalence/errors.h"
#include "tests/equivalence/fixture.h"
#include "tests/equivalence/plain_evaluator.h"
#include "tests/support/error.h"

namespace halfstep::test {
namespace {

struct BitWidths {
  const char* platform;
  std::optional<int> weights, activations;
};

std::string label(const testing::TestParamInfo<BitWidths>& info) {
  std::string text = info.param.platform;
  if (info.param.weights) text += "_w" + std::to_string(*info.param.weights);
  if (info.param.activations) text += "_f" + std::to_string(*info.param.activations);
  return text;
}

class EveryTarget : public testing::TestWithParam<BitWidths> {};

INSTANTIATE_TEST_SUITE_P(ExecutionPaths, EveryTarget,
                         testing::Values(BitWidths{"generic_int8", {}, {}}, BitWidths{"generic_int8", 4, 4},
                                         BitWidths{"generic_int8", 2, 3}, BitWidths{"pow2_int8", {}, {}},
                                         BitWidths{"pow2_int8", 4, 4}, BitWidths{"magik_t40", {}, {}},
                                         BitWidths{"magik_t40", 4, 8}, BitWidths{"magik_t40", 4, 4},
                                         BitWidths{"magik_t40", 8, 10}, BitWidths{"magik_t40", {}, 12},
                                         BitWidths{"onnxruntime_int8", {}, {}}, BitWidths{"onnxruntime_int8", 4, 4},
                                         BitWidths{"pytorch_fbgemm", {}, {}}, BitWidths{"pytorch_fbgemm", 4, {}},
                                         BitWidths{"pytorch_x86", {}, {}}, BitWidths{"pytorch_x86", 4, {}},
                                         BitWidths{"signed_pow2_int8", {}, {}}, BitWidths{"signed_pow2_int8", 4, 4},
                                         BitWidths{"signed_pow2_int8", {}, 16}),
                         label);

// A7.1, A7.3
TEST_P(EveryTarget, TrainingPathAndIntegerProgramAreEqual) {
  Prepared prepared(GetParam().platform, {GetParam().weights, GetParam().activations, {}});
  const auto conversion = quant::convert(prepared.model);
  const auto report = prepared.compare(api::paths_of(prepared.model, conversion.model));
  EXPECT_EQ(report.layers.size(), 11U);
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing, 0) << layer.layer.name;
    EXPECT_EQ(layer.parameters_differing, 0) << layer.layer.name;
    EXPECT_EQ(layer.parameters_compared > 0, layer.layer.weight_bits.has_value()) << layer.layer.name;
  }
  EXPECT_EQ(conversion.proofs.size(), 8U);
}

/// Compares the third evaluator's codes of every quantizer with the integer program's. Returns the number of layers
/// compared.
int compare_with_plain_loops(Prepared& prepared) {
  const Tensor x = prepared.parts.test.inputs(0, 2).at("x");
  const auto plain = plain_codes(prepared.model, x);
  const auto paths = api::paths_of(prepared.model, quant::convert(prepared.model).model);
  CompileOptions options;
  for (const auto& layer : paths.layers) options.fetch.push_back(layer.name);
  Model integer = specialize(paths.integer, {{"x", x.dims()}});
  integer.graph.set_outputs(integer.graph.outputs());  // an output may have the name of a layer
  auto program = compile(integer, options);
  const auto codes = program.run({{"x", x}}, prepared.pool);
  int compared = 0;
  for (const auto& layer : paths.layers) {
    const std::string quantizer = layer.op == "fake_quantize" ? layer.name : layer.float_value + ".q";
    const auto expected = plain.find(quantizer);
    if (expected == plain.end()) continue;  // a layer that only moves codes
    ++compared;
    const Tensor& tensor = codes.at(layer.name);
    EXPECT_EQ(static_cast<size_t>(tensor.size()), expected->second.size()) << layer.name;
    for (size_t i = 0; i < expected->second.size(); ++i) {
      const auto code = static_cast<int64_t>(element(tensor, static_cast<int64_t>(i)));
      EXPECT_EQ(code, expected->second[i]) << layer.name << " element " << i;
      if (code != expected->second[i]) return compared;
    }
  }
  return compared;
}

// A7.2
TEST_P(EveryTarget, PlainLoopsGiveTheSameCodes) {
  Prepared prepared(GetParam().platform, {GetParam().weights, GetParam().activations, {}});
  EXPECT_EQ(compare_with_plain_loops(prepared), 9);
}

/// Padding has the code of 0, which lies in the middle of the range for the affine activations of leaky_relu.
TEST(ExecutionPaths, PaddedActivationsHaveZeroPoints) {
  Prepared prepared("generic_int8", {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/padded_shortcut.ir");
  EXPECT_TRUE(prepared.compare(api::paths_of(prepared.model, quant::convert(prepared.model).model)).equal());
  EXPECT_EQ(compare_with_plain_loops(prepared), 6);
}

/// A single fault in one execution path.
struct Corruption {
  const char* name;
  bool in_integer;  ///< false: the fault is in the prepared network
  const char* layer;
  void (*apply)(Model& model);
  const char* platform = "generic_int8";
};

void add_to(Model& model, const std::string& tensor, size_t index, int32_t by) {
  model.tensors[tensor] = model.tensors.at(tensor).clone();
  model.tensors[tensor].data<int32_t>()[index] += by;
}

void scale_by(Model& model, const std::string& tensor, float factor) {
  model.tensors[tensor] = model.tensors.at(tensor).clone();
  for (float& value : model.tensors[tensor].data<float>()) value *= factor;
}

void set(Model& model, const std::string& op, const Attributes& changed) { model.graph.op(op).set_attributes(changed); }

const Corruption kCorruptions[] = {
    {"weight", true, "conv4", [](Model& m) { verify::inject(m, "conv4:100"); }},
    {"bias", true, "conv4", [](Model& m) { add_to(m, "conv4.b", 5, 1); }},
    {"multiplier", true, "conv2", [](Model& m) { add_to(m, "conv2.multiplier", 3, 1); }},
    {"shift", true, "conv3", [](Model& m) { add_to(m, "conv3.shift", 3, 1); }},
    {"x_zero_point", true, "conv4",
     [](Model& m) {
       set(m, "conv4", {{"x_zero_point", int64_t{1}}});
     }},
    {"y_zero_point", true, "head",
     [](Model& m) {
       set(m, "head", {{"y_zero_point", int64_t{1}}});
     }},
    {"padding", true, "conv1",
     [](Model& m) {
       set(m, "conv1", {{"pad", std::vector<int64_t>{2, 1, 0, 1}}});
     }},
    {"fused_relu6", true, "conv2",
     [](Model& m) {
       set(m, "conv2", {{"code_max", int64_t{200}}});
     }},
    {"fused_relu", true, "shortcut",
     [](Model& m) {
       set(m, "shortcut", {{"y_zero_point", int64_t{9}}});
     }},
    {"add_multiplier", true, "shortcut",
     [](Model& m) {
       set(m, "shortcut", {{"a_multiplier", int64_t{1} << 29}});
     }},
    {"pool_window", true, "mean",
     [](Model& m) {
       set(m, "mean", {{"multiplier", int64_t{1} << 30}});
     }},
    {"float_factor", true, "conv2", [](Model& m) { scale_by(m, "conv2.w_scale", 1.000001F); }, "onnxruntime_int8"},
    {"float_bias", true, "conv4", [](Model& m) { add_to(m, "conv4.b", 5, 1); }, "onnxruntime_int8"},
    {"float_y_scale", true, "conv4",
     [](Model& m) {
       set(m, "conv4", {{"y_scale", 0.5}});
     },
     "onnxruntime_int8"},
    {"float_add_scale", true, "shortcut",
     [](Model& m) {
       set(m, "shortcut", {{"a_scale", 0.5}});
     },
     "onnxruntime_int8"},
    {"float_pool_window", true, "mean",
     [](Model& m) {
       set(m, "mean", {{"x_scale", 0.5}});
     },
     "onnxruntime_int8"},
    {"weight", false, "conv4", [](Model& m) { scale_by(m, "conv4.w", 1.05F); }},
    {"float_factor", false, "conv3", [](Model& m) { scale_by(m, "relu3.scale", 1.01F); }, "onnxruntime_int8"},
    {"bias", false, "head", [](Model& m) { scale_by(m, "head.b", 3.0F); }},
    {"multiplier", false, "conv3", [](Model& m) { scale_by(m, "relu3.scale", 1.01F); }},
    {"shift", false, "conv3", [](Model& m) { scale_by(m, "relu3.scale", 2.0F); }},
    {"zero_point", false, "head", [](Model& m) { add_to(m, "head.zero_point", 0, 1); }},
    {"padding", false, "conv5",
     [](Model& m) {
       set(m, "conv5", {{"pad", std::vector<int64_t>{2, 1, 0, 1}}});
     }},
    {"fused_relu6", false, "conv2",
     [](Model& m) {
       set(m, "conv2", {{"activation", std::string("none")}});
     },
     "pow2_int8"},  // on other platforms the observed range ends at 6, where the clamp is already
    {"fused_relu", false, "conv1", [](Model& m) { add_to(m, "relu1.zero_point", 0, 3); }},
};

class EveryCorruption : public testing::TestWithParam<Corruption> {};

INSTANTIATE_TEST_SUITE_P(ExecutionPaths, EveryCorruption, testing::ValuesIn(kCorruptions), [](const auto& chosen) {
  return std::string(chosen.param.in_integer ? "integer_" : "training_") + chosen.param.name;
});

TEST_P(EveryCorruption, IsFoundAtItsLayer) {
  Prepared prepared(GetParam().platform);
  const Model integer = quant::convert(prepared.model).model;
  verify::ExecutionPaths paths = api::paths_of(prepared.model, integer);
  ASSERT_TRUE(prepared.compare(paths).equal());
  GetParam().apply(GetParam().in_integer ? paths.integer : paths.training);
  const auto report = prepared.compare(paths);
  EXPECT_FALSE(report.equal());
  for (const auto& layer : report.layers) {
    if (layer.differing + layer.parameters_differing == 0) continue;
    EXPECT_EQ(layer.layer.name, GetParam().layer);
    break;
  }
}

/// The third evaluator is independent of the others, so it too must notice a changed network.
// A7.2
TEST(ExecutionPaths, PlainLoopsNoticeAChangedWeight) {
  Prepared prepared("generic_int8");
  const Tensor x = prepared.parts.test.inputs(0, 1).at("x");
  const auto before = plain_codes(prepared.model, x);
  prepared.model.tensors["conv4.w"].data<float>()[100] += 0.5F;
  EXPECT_NE(before.at("conv4.w.q"), plain_codes(prepared.model, x).at("conv4.w.q"));
}

/// A variant may differ: layers that it lacks are not compared, and each sample counts at its first difference.
TEST(ExecutionPaths, AVariantIsAReportAndNoFailure) {
  Prepared prepared("generic_int8");
  const Model integer = quant::convert(prepared.model).model;
  verify::ExecutionPaths paths = api::paths_of(prepared.model, integer);
  paths.variants.push_back(
      {"off", [&](const Tensors& inputs) {
         CompileOptions options;
         options.fetch = {"conv2", "head"};
         const Tensor& x = inputs.at("x");
         Tensors codes = compile(specialize(integer, {{"x", x.dims()}}), options).run({{"x", x}}, prepared.pool);
         for (auto& [name, tensor] : codes) tensor = tensor.clone();
         const auto head = codes.at("head").data<uint8_t>();
         head[0] = static_cast<uint8_t>(head[0] ^ 64U);  // an element of the first sample
         for (size_t sample : {0, 2, 3}) {
           const auto conv = codes.at("conv2").data<uint8_t>();
           conv[sample * conv.size() / 20] ^= 1U;
         }
         head[head.size() - 1] = static_cast<uint8_t>(head[head.size() - 1] ^ 1U);
         return codes;
       }});
  const auto report = prepared.compare(paths);
  EXPECT_TRUE(report.equal());
  const verify::VariantReport& variant = report.variants.at(0);
  const auto& layers = report.layers;
  const auto compared = [&](const std::string& name) {
    return std::find_if(layers.begin(), layers.end(), [&](const auto& l) { return l.layer.name == name; })->compared;
  };
  EXPECT_EQ(variant.compared, compared("conv2") + compared("head"));
  EXPECT_EQ(variant.differing, 5);
  EXPECT_EQ(variant.largest, 64);
  EXPECT_EQ(variant.begins, (std::vector<std::pair<std::string, int64_t>>{{"conv2", 3}, {"head", 1}}));
}

TEST(ExecutionPaths, ReportNamesTheFirstDifferenceInBothLayouts) {
  Prepared prepared("generic_int8");
  Model integer = quant::convert(prepared.model).model;
  verify::inject(integer, "conv1:4");
  const auto report = prepared.compare(api::paths_of(prepared.model, integer));
  const auto& layer = report.layers[1];
  ASSERT_EQ(layer.layer.name, "conv1");
  ASSERT_TRUE(layer.parameter.has_value());
  EXPECT_EQ(layer.parameter->what, "weight");
  EXPECT_EQ(layer.parameter->index, 4);
  EXPECT_EQ(layer.parameter->first ^ layer.parameter->second, -128);
  ASSERT_TRUE(layer.activation.has_value());
  const auto& p = layer.activation->position;
  EXPECT_EQ(layer.activation->index, (p[0] * 8 + p[1]) * 8 + p[2]);
  EXPECT_EQ(layer.activation->nhwc, (p[1] * 8 + p[2]) * 32 + p[0]);
}

using Override = std::pair<std::string, std::string>;

class EveryShift : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ExecutionPaths, EveryShift,
                         testing::Values("half_up", "half_even", "half_away", "truncate", "doubled"),
                         [](const auto& name) { return std::string(name.param); });

/// Every rounding of a shift, on codes of either sign, by both execution paths and by plain loops.
// A4.5, A7.1
TEST_P(EveryShift, RoundsTheSameOnAllPaths) {
  for (const char* codes : {"unsigned", "signed"}) {
    Prepared prepared("generic_int8", {},
                      {Override{"requantize.rounding", GetParam()}, Override{"activations.codes", codes}});
    const auto conversion = quant::convert(prepared.model);
    const auto report = prepared.compare(api::paths_of(prepared.model, conversion.model));
    EXPECT_TRUE(report.equal()) << codes;
    EXPECT_GT(compare_with_plain_loops(prepared), 8) << codes;
  }
}

TEST(Inject, PlacesAreLayersAndIndices) {
  Prepared prepared("generic_int8");
  Model integer = quant::convert(prepared.model).model;
  const auto error = [&](const std::string& place) { return diagnostic_of([&] { verify::inject(integer, place); }); };
  EXPECT_EQ(error("conv9:1"), errors::injected_layer_unknown("conv9", ", did you mean 'conv1'?"));
  EXPECT_EQ(error("conv4"), errors::injected_place_wrong("conv4", "", "LAYER:INDEX, as in conv1:17"));
  EXPECT_EQ(error("conv4:36864").found, "index 36864");
}

}  // namespace
}  // namespace halfstep::test
