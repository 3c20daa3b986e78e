// Semantic checks against the float operators of the source model: correct networks pass on every target, and errors
// that both execution paths share are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/api/detail/network_source.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/equivalence/layer_semantics.h"
#include "halfstep/verify/equivalence/real_values.h"
#include "halfstep/verify/equivalence/same_floats.h"
#include "halfstep/verify/equivalence/semantics.h"
#include "tests/equivalence/fixture.h"
#include "tests/support/error.h"

namespace halfstep::test {
namespace {

struct Target {
  const char* platform;
  std::optional<int> weights, activations;
};

std::string label(const testing::TestParamInfo<Target>& info) {
  std::string text = info.param.platform;
  if (info.param.weights) text += "_w" + std::to_string(*info.param.weights);
  if (info.param.activations) text += "_f" + std::to_string(*info.param.activations);
  return text;
}

class SemanticsOn : public testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Semantics, SemanticsOn,
                         testing::Values(Target{"generic_int8", {}, {}}, Target{"generic_int8", 4, 4},
                                         Target{"generic_int8", 2, 3}, Target{"pow2_int8", {}, {}},
                                         Target{"pow2_int8", 4, 4}, Target{"magik_t40", {}, {}},
                                         Target{"magik_t40", 4, 4}, Target{"magik_t40", {}, 12},
                                         Target{"onnxruntime_int8", {}, {}}, Target{"onnxruntime_int8", 4, 4},
                                         Target{"pytorch_fbgemm", {}, {}}, Target{"pytorch_x86", {}, {}},
                                         Target{"signed_pow2_int8", {}, {}}, Target{"signed_pow2_int8", 4, 16}),
                         label);

// A12.1, A12.5
TEST_P(SemanticsOn, EveryLayerIsWhatTheNetworkSays) {
  Prepared prepared(GetParam().platform, {GetParam().weights, GetParam().activations, {}});
  const Model integer = quant::convert(prepared.model).model;
  const auto layers = verify::check_semantics(prepared.model, integer, {}, prepared.pool);
  EXPECT_EQ(layers.size(), 11U);
  for (const auto& layer : layers) {
    EXPECT_GT(layer.semantics.compared, 0) << layer.layer;
    EXPECT_EQ(layer.semantics.beyond, 0) << layer.layer << " " << layer.semantics.first->what << " "
                                         << layer.semantics.first->found << " for " << layer.semantics.first->expected
                                         << " " << layer.semantics.first->real << " " << layer.semantics.first->says;
    EXPECT_LE(layer.semantics.largest, 1) << layer.layer;
  }
}

constexpr const char* kNetwork = HALFSTEP_SOURCE_DIR "/tests/equivalence/semantics.ir";

/// Changes the text of the source model that the prepared Model keeps.
void change_source(Model& prepared, const std::string& from, const std::string& to) {
  Source source = *prepared.source;
  std::string text = print(source.network.graph);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in\n" << text;
  source.network.graph = parse(text.replace(at, from.size(), to), "source.ir");
  prepared.source = std::make_shared<const Source>(std::move(source));
}

/// Layers with codes out of tolerance.
std::vector<std::string> wrong_layers(const Prepared& prepared, const Model& integer, ThreadPool& pool) {
  std::vector<std::string> wrong;
  for (const auto& layer : verify::check_semantics(prepared.model, integer, {}, pool)) {
    if (layer.semantics.beyond > 0) wrong.push_back(layer.layer);
  }
  return wrong;
}

/// The quantize operator of a float value in the program, behind operators that move the value.
Op quantize_behind(const Model& integer, const std::string& value) {
  for (const Op op : integer.graph.ops()) {
    if (!op.is<ops::Quantize>()) continue;
    Value x = op.in(0);
    while (x.producer() && x.name() != value) x = x.producer().in(0);
    if (x.name() == value) return op;
  }
  return {};
}

/// An error that both execution paths share.
struct Misreading {
  const char* name;
  const char *network_says, *paths_read;
  const char* layer;
};

constexpr const char* kMean = "{kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1]}";
constexpr const char* kMeanInside = "{kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1], count_include_pad: false}";

const Misreading kMisreadings[] = {
    {"average_over_padding", kMeanInside, kMean, "mean"},
    {"pool_padding", "{kernel: [3, 3], stride: [1, 1], pad: [2, 1, 0, 1]}", kMean, "mean"},
    {"slope", "alpha: 0.125", "alpha: 0.25", "c2"},
    {"activation", "r1 = tanh(x=c1)", "r1 = relu(x=c1)", "c1"},
    {"no_activation", "r1 = identity(x=c1)", "r1 = relu(x=c1)", "c1"},
    {"order", "x=[part, r1]", "x=[r1, part]", "both"},
    {"slice", "{starts: [1, 0], ends: [9, 8]", "{starts: [0, 0], ends: [8, 8]", "part"},
    {"table", "s = gelu(x=fc)", "s = silu(x=fc)", "s"},
    {"product", "p = add(a=s, b=fc)", "p = mul(a=s, b=fc)", "p"},
    {"orientation", "fc = gemm(a=all, b=@fc.w, c=@fc.b) {transpose_b: true}", "fc = gemm(a=all, b=@fc.w, c=@fc.b)", ""},
};

class EveryMisreading : public testing::TestWithParam<Misreading> {};

INSTANTIATE_TEST_SUITE_P(Semantics, EveryMisreading, testing::ValuesIn(kMisreadings),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

// A12.1, A12.3
TEST_P(EveryMisreading, IsFoundThoughThePathsAgree) {
  Prepared prepared("generic_int8", {}, {}, kNetwork);
  const Model integer = quant::convert(prepared.model).model;
  ASSERT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
  ASSERT_TRUE(api::check_floats(prepared.model, prepared.parts.test, prepared.pool).holds());
  change_source(prepared.model, GetParam().paths_read, GetParam().network_says);
  const auto paths = prepared.compare(api::paths_of(prepared.model, integer));
  EXPECT_TRUE(paths.equal());
  const std::string layer = GetParam().layer;
  // The codes of the square weight are right but in the wrong order. Only the semantic check against float finds that.
  EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool),
            layer.empty() ? std::vector<std::string>() : std::vector<std::string>{layer});
  const auto floats = api::check_floats(prepared.model, prepared.parts.test, prepared.pool);
  EXPECT_TRUE(!floats.structure.empty() || floats.trained);
}

/// Errors in the integer program alone, which the comparison of execution paths would find too.
// A12.1, A12.2
TEST(Semantics, FindsParametersThatAreNotTheLayers) {
  struct Case {
    const char* layer;
    void (*apply)(Model& integer);
  };
  const Case cases[] = {
      {"c1",
       [](Model& m) {
         auto b = m.tensors.at("c1.b").data<int32_t>();
         std::rotate(b.begin(), b.begin() + 1, b.end());
       }},
      {"c2",
       [](Model& m) {
         m.graph.op("c2").set_attributes({{"x_zero_point", int64_t{3}}});
       }},
      {"wide",
       [](Model& m) {
         m.tensors["wide.fill"] = m.tensors.at("wide.fill").clone();
         m.tensors.at("wide.fill").data<uint8_t>()[0] ^= 4U;
       }},
      {"fc",
       [](Model& m) {
         const auto w = m.tensors.at("fc.w").data<int8_t>();
         for (size_t i = 0; i < 16; ++i) {
           for (size_t j = 0; j < i; ++j) std::swap(w[i * 16 + j], w[j * 16 + i]);
         }
       }},
      {"p",
       [](Model& m) {
         m.graph.op("p").set_attributes({{"a_zero_point", int64_t{1}}});
       }},
  };
  for (const Case& wrong : cases) {
    Prepared prepared("generic_int8", {}, {}, kNetwork);
    Model integer = quant::convert(prepared.model).model;
    wrong.apply(integer);
    EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>{wrong.layer});
  }
}

TEST(Semantics, AFaultSaysWhereAndWhat) {
  Prepared prepared("generic_int8", {}, {}, kNetwork);
  const Model integer = quant::convert(prepared.model).model;
  change_source(prepared.model, kMean, kMeanInside);
  for (const auto& layer : verify::check_semantics(prepared.model, integer, {}, prepared.pool)) {
    if (!layer.semantics.first) continue;
    const verify::SemanticFault& fault = *layer.semantics.first;
    EXPECT_EQ(layer.layer, "mean");
    EXPECT_EQ(fault.what, "activation");
    EXPECT_EQ(fault.position.size(), 3U);
    EXPECT_EQ(fault.index, (fault.position[0] * 8 + fault.position[1]) * 8 + fault.position[2]);
    EXPECT_EQ(fault.nhwc, (fault.position[1] * 8 + fault.position[2]) * 8 + fault.position[0]);
    EXPECT_GT(fault.expected, fault.found) << "a mean over fewer elements is larger";
    EXPECT_EQ(fault.says,
              "avg_pool2d 'mean' {count_include_pad: false, kernel: [3, 3], pad: [1, 1, 1, 1], stride: [1, 1]}");
  }
}

TEST(Semantics, NeedsTheModelThatThePreparedOneWasMadeFrom) {
  Prepared prepared("generic_int8", {}, {}, kNetwork);
  const Model integer = quant::convert(prepared.model).model;
  const auto inputs = [source = prepared.model.source](int64_t begin, int64_t count) {
    return source->inputs(begin, count);
  };
  const auto check = [&] { verify::check_semantics(prepared.model, integer, inputs, 1, {}, prepared.pool); };
  prepared.model.source = {};
  EXPECT_EQ(diagnostic_of(check), errors::source_model_missing(prepared.model.graph.name()));
}

TEST(Semantics, OtherOutputsAreFound) {
  Prepared prepared("generic_int8");
  const Model& network = prepared.model.source->network;
  Model rewritten = quant::float_form(network, quant::load_platform("generic_int8"));
  rewritten.graph.set_outputs({});
  EXPECT_EQ(
      name_of([&] { verify::same_floats(network, rewritten, prepared.parts.test.inputs(0, 1), {}, prepared.pool); }),
      "source_does_not_match");
}

TEST(Semantics, ValuesAreKnownOrComputedByOneOperator) {
  const Graph graph = parse(R"(graph g(x: f32[2], on: bool[]) {
  y = relu(x=x)
  r = if(cond=on, captured=[x]) region then(a: f32[2]) { return a } region else(b: f32[2]) { return b }
  return y, r
})");
  const Tensors none;
  verify::RealValues values(graph, none);
  values.begin([](Value) { return nullptr; });
  const int64_t index[] = {0};
  EXPECT_EQ(diagnostic_of([&] { values.elements(graph.value("y"), index); }),
            errors::semantic_check_incomplete("network 'g'", "values of argument 'x'"));
  const verify::Numbers known{Tensor(DType::f64, {2})};
  const verify::Numbers on{Tensor(DType::boolean, {})};
  values.begin([&](Value value) { return value.name() == "x" ? &known : value.name() == "on" ? &on : nullptr; });
  EXPECT_EQ(diagnostic_of([&] { values.elements(graph.value("r"), index); }),
            errors::layer_not_evaluated_alone("text:3: node 'r'", "if"));
}

// A12.7
TEST(Semantics, FoldedWeightsAreTheNetworks) {
  Prepared prepared("generic_int8");
  const Model& network = prepared.model.source->network;
  Model rewritten = quant::float_form(network, quant::load_platform("generic_int8"));
  const Tensors inputs = prepared.parts.test.inputs(0, 1);
  const auto right = verify::same_floats(network, rewritten, inputs, {}, prepared.pool);
  EXPECT_TRUE(right.holds()) << right.faults.front().value << " " << right.faults.front().found << " for "
                             << right.faults.front().expected << " within " << right.faults.front().bound;
  EXPECT_GT(right.compared, 0);
  auto b = rewritten.tensors.at("conv3.b").data<float>();
  std::rotate(b.begin(), b.begin() + 1, b.end());
  const auto wrong = verify::same_floats(network, rewritten, inputs, {}, prepared.pool);
  ASSERT_EQ(wrong.faults.size(), 1U);
  EXPECT_EQ(wrong.faults[0].value, "conv3");
}

/// The source model has the numbers, and the program has their codes, with few bits here.
// A5.4, A12.5
TEST(Semantics, NumbersThatAreTakenAwayAreCodes) {
  quant::PrepareOptions bit_widths;
  bit_widths.activation_bits = bit_widths.first_last_bits = 4;
  Prepared prepared("pow2_int8", bit_widths, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/differences.ir",
                    [](Model& model) {
                      model.tensors["number"] = Tensor::scalar(0.5782022F);
                      model.tensors["divisor"] = Tensor::scalar(1.3891F);
                      Tensor row(DType::f32, {8});
                      for (size_t i = 0; i < 8; ++i) row.data<float>()[i] = 0.37F * static_cast<float>(i) - 1.1F;
                      model.tensors["row"] = row;
                    });
  const Model integer = quant::convert(prepared.model, {.float_fallback = true}).model;
  EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
  change_source(prepared.model, "less = sub(a=s, b=@number)", "less = add(a=s, b=@number)");
  EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>{"less"});
}

TEST(Semantics, AMeanOfOneValueIsThatValue) {
  const auto factors = [](Model& model) {
    Tensor row(DType::f32, {8, 1, 1});
    for (size_t i = 0; i < 8; ++i) row.data<float>()[i] = 0.37F * static_cast<float>(i) - 1.1F;
    model.tensors["factor"] = row;
  };
  Prepared prepared("generic_int8", {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/single_operand.ir", factors);
  const Model integer = quant::convert(prepared.model, {.float_fallback = true}).model;
  EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
}

/// A stored number is exact unless a layer reads its codes. Operators that only unread operators read do not end a
/// layer.
// A12.5
TEST(Semantics, LimitsAreExact) {
  const auto limit = [](Model& model) { model.tensors["limit"] = Tensor::scalar(0.185412F).reshaped({}); };
  for (const char* platform : {"pow2_int8", "generic_int8"}) {
    SCOPED_TRACE(platform);
    Prepared prepared(platform, {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/limits.ir", limit);
    const Model integer = quant::convert(prepared.model, {.float_fallback = true}).model;
    EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
  }
}

TEST(Semantics, ClipsWithoutLimitsGiveWhatTheyRead) {
  Prepared prepared("generic_int8", {{}, 2, 8}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/open_clips.ir");
  EXPECT_TRUE(prepared.model.graph.op("same").is<ops::Relu6>());
  const Model integer = quant::convert(prepared.model).model;
  EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
}

/// The limit of an activation is rounded to the nearest code, however shifts round.
// A12.5
TEST(Semantics, ALimitIsItsNearestCode) {
  const auto enlarge = [](Model& model) {
    for (float& weight : model.tensors.at("c.w").data<float>()) weight *= 64;
  };
  Prepared prepared("generic_int8", {}, {{"requantize.rounding", "truncate"}, {"activations.observer", "minmax"}},
                    HALFSTEP_SOURCE_DIR "/tests/equivalence/open_clips.ir", enlarge);
  const Model integer = quant::convert(prepared.model).model;
  EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
}

TEST(Semantics, OfTensorsThatHaveTheNamesOfValues) {
  Prepared prepared("generic_int8", {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/namesakes.ir");
  EXPECT_TRUE(prepared.model.graph.value("c.q"));
  EXPECT_TRUE(prepared.model.graph.value("m.2"));
  const Model integer = quant::convert(prepared.model).model;
  for (const auto& layer : verify::check_semantics(prepared.model, integer, {.all = true}, prepared.pool))
    EXPECT_EQ(layer.semantics.beyond, 0) << layer.layer;
}

/// The preparation replaces a product, a reshape and a sum by a layer and a reshape. The value between them is new, and
/// here it is in float with rounded weights.
// A12.4
TEST(Semantics, NewFloatValuesAreTakenAsTheProgramGivesThem) {
  for (const char* platform : {"pplcuda", "snpe", "tengine_u8", "pplw8a16"}) {
    SCOPED_TRACE(platform);
    Prepared prepared(platform, {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/renamed.ir");
    Model integer = quant::convert(prepared.model, {.float_fallback = true}).model;
    EXPECT_FALSE(prepared.model.source->network.graph.value("sum.2"));
    const Op layer = prepared.model.graph.op("sum.2");
    ASSERT_TRUE(layer.is<ops::Linear>());
    ASSERT_TRUE(layer.in(1).producer().is<ops::FakeQuantize>());
    ASSERT_TRUE(integer.graph.op("sum.2").is<ops::Linear>()) << "in float";
    EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>());
    EXPECT_TRUE(api::check_floats(prepared.model, prepared.parts.test, prepared.pool).holds());
    const Op codes = quantize_behind(integer, "sum");
    ASSERT_TRUE(codes);
    Tensor& scale = integer.tensors.at(codes.in(1).name());
    scale = scale.clone();
    scale.data<float>()[0] *= 1.01F;
    EXPECT_EQ(wrong_layers(prepared, integer, prepared.pool), std::vector<std::string>{codes.name()});
  }
}

TEST(Semantics, WithoutTheNetworkItIsSaidThatNobodyLooked) {
  Prepared prepared("generic_int8");
  prepared.model.source = nullptr;
  verify::VerifyReport report;
  api::check_semantics(report, prepared.model, quant::convert(prepared.model).model, prepared.parts.test, {},
                       prepared.pool, {});
  EXPECT_EQ(report.unchecked,
            "the prepared Model does not contain its source model (older files do not); quantize again");
}

/// Semantic check of one code against a float value in steps.
verify::Semantics beside(double steps, int64_t found, double relative = 0.01, double middle = 0.0) {
  const verify::CodeFormat format{1, 100, 0, 255, verify::Ties::even, "fixed_point", 31, "half_up"};
  verify::Semantics semantics;
  verify::compare_code(
      semantics, format, steps, middle, found, [&](double saturated) { return relative * std::fabs(saturated); },
      [] { return verify::SemanticFault(); });
  return semantics;
}

// A12.2
TEST(Semantics, ACodeMayDifferNearATieAlone) {
  EXPECT_EQ(beside(10.4, 110).near_ties + beside(10.4, 110).beyond, 0);
  EXPECT_EQ(beside(10.45, 111).near_ties, 1);
  EXPECT_EQ(beside(10.45, 111).largest, 1);
  EXPECT_EQ(beside(10.3, 111).beyond, 1);
  EXPECT_EQ(beside(10.4, 112).beyond, 1);
  EXPECT_EQ(beside(1e300, 255).near_ties + beside(1e300, 255).beyond, 0);
  // With truncation, a code lies between the float value and the next lower one.
  EXPECT_EQ(beside(10.9, 110, 0.01, -0.5).beyond + beside(10.9, 110, 0.01, -0.5).near_ties, 0);
  EXPECT_EQ(beside(10.95, 111, 0.01, -0.5).near_ties, 1);
  EXPECT_EQ(beside(10.7, 111, 0.01, -0.5).beyond, 1);
  EXPECT_EQ(beside(300, 255, 0.01, -0.5).beyond, 0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(beside(kInfinity, 253).beyond, 0) << "within the bound of what has codes, 155 steps";
  EXPECT_EQ(beside(kInfinity, 252).beyond, 1);
  EXPECT_EQ(beside(-kInfinity, 100).beyond, 1);
  EXPECT_EQ(beside(std::numeric_limits<double>::quiet_NaN(), 0).beyond, 0);
  EXPECT_EQ(beside(std::numeric_limits<double>::quiet_NaN(), 1).beyond, 1);
}

}  // namespace
}  // namespace halfstep::test
