// Quantizer placement of the platforms for MQBench's back ends. It is compared with recordings of the real MQBench on
// eight networks, from its branch main (head) and its branch for torch 1.10 (t110). Then each network becomes integers.
// Every deviation has a name and a reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "halfstep/core/base/random.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/halfstep.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

using Names = std::set<std::string>;

constexpr const char* kNetworks[] = {"resnet",    "mobilenetv2", "silu_neck",  "se_block",
                                     "deconv_ae", "two_input",   "functional", "encoder"};
constexpr const char* kBackends[] = {"Academic",     "Tensorrt",     "SNPE",    "PPLW8A16", "NNIE",
                                     "Vitis",        "ONNX_QNN",     "PPLCUDA", "OPENVINO", "Tengine_u8",
                                     "Tensorrt_NLP", "Academic_NLP", "STPU",    "QDQ"};

/// An intended difference from MQBench.
struct Deviation {
  std::string network;
  Names backends;  ///< empty: all backends
  Names tensors;   ///< tensors with a quantizer in one of the two only
  std::string reason;
  std::string rule = {};   ///< rule in docs/design/mqbench_sets.md, section "Decisions that no file shows"
  std::string quirk = {};  ///< quirk of the platform: ours has the quantizer too when asked to do as MQBench
  Names lines = {};        ///< empty: both lines
};

const std::vector<Deviation>& deviations() {
  static const std::vector<Deviation> kDeviations = {
      {"mobilenetv2",
       {"OPENVINO"},
       {"/Flatten_output_0"},
       "a Dropout, which is nothing in evaluation, hides the linear layer from MQBench's rule about a flatten",
       "dropout"},
      {"deconv_ae",
       {"Vitis", "Tengine_u8"},
       {"/d3/ConvTranspose_output_0"},
       "a deconvolution takes its ReLU in, as a convolution does; MQBench's branch for torch 1.10 does so too",
       {},
       "deconvolutions_alone",
       {"head"}},
      {"two_input",
       {"Tengine_u8"},
       {"out1"},
       "outputs in a tuple are outputs; MQBench sees a single one alone",
       {},
       "single_output"},
      {"functional",
       {"Tensorrt", "NNIE", "QDQ"},
       {"/Add_output_0", "/Resize_1_output_0"},
       "F.max_pool2d is the operator that nn.MaxPool2d is",
       "method"},
      {"functional",
       {},
       {"/c3/Conv_output_0", "out0", "out0.2"},
       "a mean over height and width is the operator that adaptive_avg_pool2d is",
       {},
       "means_apart"},
  };
  return kDeviations;
}

/// A case that is not compared, with the reason.
struct Exception {
  Names networks, backends;  ///< empty: all networks or backends
  std::string reason;
  bool holds(const std::string& network, const std::string& backend) const {
    return (networks.empty() || networks.contains(network)) && (backends.empty() || backends.contains(backend));
  }
};
const std::vector<Exception> kOtherScales = {
    {{}, {"Academic"}, "MQBench leaves normalizations where they are; ours are folded before weights are quantized"}};
const std::vector<Exception> kOtherActivations = {
    {{}, {"NNIE"}, "MQBench takes the largest that a moving range has been, ours is that range"}};
const std::vector<Exception> kOtherBitWidths = {
    {{"silu_neck"},
     {"Academic"},
     "outputs in a tuple are ends of the network, of 8 bits; MQBench sees a single one alone"}};

bool any_holds(const std::vector<Exception>& exceptions, const std::string& network, const std::string& backend) {
  return std::ranges::any_of(exceptions, [&](const Exception& one) { return one.holds(network, backend); });
}

/// A network, its recording from MQBench, and the result of our platform of that name.
struct Pair {
  std::string line, network, backend;
  nlohmann::json record;
  QuantizeResult ours;
  Dataset data;
};

const std::string kFolder = "platforms/mqbench/";

/// The four batches that MQBench calibrated on. Calibration with seed 0 visits them in that order.
Dataset samples_of(const std::string& network) {
  const auto tensors =
      io::read_safetensors(test::test_data(kFolder + network + "/" + network + ".safetensors")).tensors;
  Tensors inputs;
  for (const auto& [name, first] : tensors) {
    if (!name.starts_with("calib.0.")) continue;
    const std::string input = name.substr(8);
    const int64_t batch = first.dims()[0];
    Dims dims = first.dims();
    dims[0] = 4 * batch;
    Tensor all(first.dtype(), dims);
    const size_t bytes = first.bytes() / static_cast<size_t>(batch);
    const auto order = Random(0, 0).permutation(dims[0]);
    for (int64_t k = 0; k < dims[0]; ++k) {
      const Tensor& from = tensors.at(fmt::format("calib.{}.{}", k / batch, input));
      std::memcpy(all.raw() + static_cast<size_t>(order[static_cast<size_t>(k)]) * bytes,
                  from.raw() + static_cast<size_t>(k % batch) * bytes, bytes);
    }
    inputs[input] = std::move(all);
  }
  return make_data(inputs, network, {.all = true});
}

int64_t batch_of(const Dataset& data) { return data.size() / 4; }

Pair pair_of(const std::string& line, const std::string& network, const std::string& backend,
             const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  const std::string folder = kFolder + network + "/";
  std::ifstream file(test::test_data(folder + line + "/" + backend + ".json"));
  std::string record(std::istreambuf_iterator<char>(file), {});
  // JSON has no infinity. Python writes it for observers that have seen nothing.
  for (size_t at = 0; (at = record.find("Infinity", at)) != std::string::npos;) record.replace(at, 8, "0");
  Dataset data = samples_of(network);
  const Model model = load(test::test_data(folder + network + ".onnx"));
  QuantizeResult ours = quantize(model, quant::load_platform(backend, overrides), data,
                                 {.calibration = {.batch = batch_of(data)}, .keep_samples = 2}, {});
  return {line, network, backend, nlohmann::json::parse(record), std::move(ours), std::move(data)};
}

/// Name of the initializer that a linear layer on three axes reads transposed: "q.weight" for "/q/Transpose_output_0".
std::string as_theirs(const std::string& tensor) {
  const size_t at = tensor.find("/Transpose_output_0");
  return at == std::string::npos ? tensor : tensor.substr(1, at - 1) + ".weight";
}

void expect_codes(const Pair& pair, const nlohmann::json& theirs, const quant::AuditedQuantizer& ours) {
  if (any_holds(kOtherBitWidths, pair.network, pair.backend)) return;
  EXPECT_EQ(theirs["quant_min"], ours.code_min) << ours.tensor;
  EXPECT_EQ(theirs["quant_max"], ours.code_max) << ours.tensor;
  // Codes from 0 on behind a ReLU have an affine zero point here. MQBench has zero point 0.
  const bool is_symmetric = theirs["qscheme"].get<std::string>().ends_with("symmetric");
  EXPECT_EQ(is_symmetric && ours.code_min < 0, ours.symmetric) << ours.tensor;
}

/// Compares the scale and the zero point of an activation.
void expect_scale(const Pair& pair, const nlohmann::json& theirs, const quant::AuditedQuantizer& ours) {
  if (any_holds(kOtherActivations, pair.network, pair.backend) ||
      any_holds(kOtherBitWidths, pair.network, pair.backend))
    return;
  // Codes from 0 on use their whole range here. MQBench spends half of them on negative values.
  const float spent = theirs["quant_min"] == 0 && theirs["qscheme"].get<std::string>().ends_with("symmetric") ? 2 : 1;
  const float scale = theirs["scale"].is_array() ? theirs["scale"][0].get<float>() : theirs["scale"].get<float>();
  EXPECT_NEAR(ours.scale[0] * spent, scale, 2e-6F * scale) << ours.tensor;
  const int zero =
      theirs["zero_point"].is_array() ? theirs["zero_point"][0].get<int>() : theirs["zero_point"].get<int>();
  EXPECT_EQ(ours.zero_point[0], zero) << ours.tensor;
}

void expect_weight(const Pair& pair, const nlohmann::json& theirs, const quant::AuditedQuantizer& ours) {
  expect_codes(pair, theirs, ours);
  // A transposed convolution with a stride and codes is a convolution here, whose output channels are on axis 0.
  const bool has_codes = Names{"Tensorrt", "QDQ"}.contains(pair.backend);
  const bool is_turned =
      pair.network == "deconv_ae" && has_codes && Names{"d1.weight", "d2.weight"}.contains(ours.tensor);
  EXPECT_EQ(is_turned ? 0 : theirs["ch_axis"].get<int>(), ours.axis) << ours.tensor;
  if (any_holds(kOtherScales, pair.network, pair.backend) || any_holds(kOtherBitWidths, pair.network, pair.backend))
    return;
  if (theirs.contains("data_max")) {  // logarithmic range: the value of the outermost code
    const auto largest = theirs["data_max"].get<float>();
    EXPECT_NEAR(ours.scale[0] * 127.5F, largest, 2e-6F * largest) << ours.tensor;
    return;
  }
  const auto scales = theirs["scale"].is_array() ? theirs["scale"].get<std::vector<float>>()
                                                 : std::vector{theirs["scale"].get<float>()};
  ASSERT_EQ(scales.size(), ours.scale.size()) << ours.tensor;
  for (size_t c = 0; c < scales.size(); ++c) EXPECT_NEAR(ours.scale[c], scales[c], 2e-6F * scales[c]) << ours.tensor;
}

Names deviating(const Pair& pair, const std::vector<Deviation>& deviations, bool but_quirks = false) {
  Names names;
  for (const Deviation& one : deviations) {
    if (but_quirks && !one.quirk.empty()) continue;
    if (!one.lines.empty() && !one.lines.contains(pair.line)) continue;
    if (one.network == pair.network && (one.backends.empty() || one.backends.contains(pair.backend)))
      names.insert(one.tensors.begin(), one.tensors.end());
  }
  return names;
}

/// Layers whose weights have no quantizer here but have one in MQBench.
const std::vector<Deviation> kFloatWeights = {{"deconv_ae",
                                               {"ONNX_QNN"},
                                               {"d1.weight", "d2.weight", "d3.weight", "d4.weight"},
                                               "QLinear operators have no deconvolution, so nothing of one is "
                                               "quantized; MQBench's branch for torch 1.10 quantizes "
                                               "its weight alone",
                                               {},
                                               {},
                                               {"t110"}}};

class Mqbench : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {
 protected:
  void SetUp() override { HS_NEEDS_TEST_DATA(kFolder); }
  static Pair pair() {
    return std::apply([](auto... names) { return pair_of(names...); }, GetParam());
  }
};

TEST_P(Mqbench, quantizers_stand_where_theirs_do) {
  const Pair pair = Mqbench::pair();
  std::map<std::string, const quant::AuditedQuantizer*> activations, weights;
  for (const auto& one : pair.ours.audit.quantizers) {
    if (one.is_weight) {
      weights[as_theirs(one.tensor)] = &one;
    } else {
      activations[one.tensor] = &one;
    }
  }
  Names found, expected;
  for (const auto& [name, one] : activations) found.insert(name);
  for (const auto& one : pair.record["activation_quantizers"]) {
    expected.insert(one["tensor"]);
    const auto ours = activations.find(one["tensor"]);
    if (ours == activations.end()) continue;
    expect_codes(pair, one, *ours->second);
    expect_scale(pair, one, *ours->second);
  }
  for (const std::string& name : deviating(pair, deviations())) {
    found.erase(name);
    expected.erase(name);
  }
  EXPECT_EQ(found, expected);

  std::map<std::string, nlohmann::json> theirs;
  for (const auto& one : pair.record["weight_quantizers"]) theirs[one["tensor"]] = one;
  for (const std::string& name : deviating(pair, kFloatWeights)) theirs.erase(name);
  EXPECT_EQ(weights.size(), theirs.size());
  for (const auto& [name, one] : theirs) {
    ASSERT_TRUE(weights.contains(name)) << name;
    expect_weight(pair, one, *weights.at(name));
  }
}

TEST(MqbenchDeviations, AreOfOneRuleOrQuirk) {
  for (const Deviation& one : deviations()) EXPECT_NE(one.rule.empty(), one.quirk.empty()) << one.reason;
}

class AsMqbench : public Mqbench {};

/// With the quirks the quantizer sets equal MQBench's, except for the rules that no file states. Without them, the
/// audit names every difference and its reason.
TEST_P(AsMqbench, has_its_quantizers) {
  const auto [line, network, backend] = GetParam();
  const Pair pair = pair_of(line, network, backend, {{"insert.as", "mqbench"}});
  Names found, expected, named;
  for (const auto& one : pair.ours.audit.quantizers) {
    if (!one.is_weight) found.insert(one.tensor);
  }
  for (const auto& one : pair.record["activation_quantizers"]) expected.insert(one["tensor"]);
  for (const std::string& name : deviating(pair, deviations(), true)) {
    found.erase(name);
    expected.erase(name);
  }
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(pair.ours.audit.deviations.empty());
  if (network == std::string("silu_neck") && backend == std::string("Academic")) {
    std::map<std::string, int> bit_widths;
    for (const auto& one : pair.ours.audit.quantizers) bit_widths[as_theirs(one.tensor)] = one.bits;
    for (const char* kind : {"activation_quantizers", "weight_quantizers"}) {
      for (const auto& one : pair.record[kind]) EXPECT_EQ(bit_widths.at(one["tensor"]), one["bits"]) << one["tensor"];
    }
  }

  // The audit names exactly the tensors where the quantizer sets or the bit widths differ.
  const Pair own = pair_of(line, network, backend);
  std::map<std::string, int> here, there;
  for (const auto& one : own.ours.audit.quantizers) {
    if (!one.is_weight) here[one.tensor] = one.bits;
  }
  for (const auto& one : pair.ours.audit.quantizers) {
    if (!one.is_weight) there[one.tensor] = one.bits;
  }
  Names differing;
  for (const auto& [tensor, bits] : here) {
    if (const auto same = there.find(tensor); same == there.end() || same->second != bits) differing.insert(tensor);
  }
  for (const auto& [tensor, bits] : there) {
    if (!here.contains(tensor)) differing.insert(tensor);
  }
  for (const auto& one : own.ours.audit.deviations) named.insert(one.tensor);
  EXPECT_EQ(named, differing);
}

class MqbenchIntegers : public Mqbench {};

/// Layers without an integer form stay in float on purpose.
TEST_P(MqbenchIntegers, integers_are_the_training_network) {
  const Pair pair = Mqbench::pair();
  if (pair.record["activation_quantizers"].empty())
    GTEST_SKIP() << pair.backend << " has no quantizer for an activation of " << pair.network;
  if (pair.backend == "NNIE") {
    EXPECT_EQ(test::kind_of([&] { convert(pair.ours.model, {.float_fallback = true}); }), ErrorKind::unsupported);
    return;
  }
  const auto integer = convert(pair.ours.model, {.float_fallback = true});
  const auto proof = verify(pair.ours.model, integer.model, pair.data, {}, {});
  EXPECT_TRUE(proof.equal()) << report::verdict(proof);
}

std::string name_of(const testing::TestParamInfo<Mqbench::ParamType>& info) {
  return fmt::format("{}_{}_{}", std::get<0>(info.param), std::get<1>(info.param), std::get<2>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Records, Mqbench,
                         testing::Combine(testing::Values("head"), testing::ValuesIn(kNetworks),
                                          testing::ValuesIn(kBackends)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Records, AsMqbench,
                         testing::Combine(testing::Values("head"), testing::ValuesIn(kNetworks),
                                          testing::ValuesIn(kBackends)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Records, MqbenchIntegers,
                         testing::Combine(testing::Values("head"), testing::ValuesIn(kNetworks),
                                          testing::ValuesIn(kBackends)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OlderRecords, Mqbench,
                         testing::Combine(testing::Values("t110"), testing::ValuesIn(kNetworks),
                                          testing::ValuesIn(std::begin(kBackends), std::end(kBackends) - 1)),
                         name_of);  // head alone has the last one, QDQ

}  // namespace
}  // namespace halfstep::api
