// Kinds of layers that become integers through other operators: both execution paths have the same codes, every layer
// computes as the source model says, and nothing stays in float.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/float_fallback.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/verify/equivalence/same_floats.h"
#include "halfstep/verify/equivalence/semantics.h"
#include "tests/equivalence/c_backend.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

struct Kind {
  const char* network;
  const char* platform;
};

/// magik_t40 takes layers of up to 12 channels, or of 32.
std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const char* network : {"decoder", "line", "volume", "norms", "slopes", "recurrent", "resizes", "open_images"}) {
    for (const char* platform : {"generic_int8", "pow2_int8"}) kinds.push_back({network, platform});
  }
  for (const char* network : {"decoder", "norms", "slopes", "resizes"}) kinds.push_back({network, "magik_t40"});
  kinds.push_back({"up", "stpu"});  // a target with insertion rules
  return kinds;
}

/// Networks that keep their operators.
std::vector<Kind> kinds_by_position() {
  std::vector<Kind> kinds;
  for (const char* network : {"places", "indexed", "running"}) {
    for (const char* platform : {"generic_int8", "pow2_int8", "magik_t40"}) kinds.push_back({network, platform});
  }
  return kinds;
}

class LayerKinds : public testing::TestWithParam<Kind> {};
std::string name_of_kind(const testing::TestParamInfo<Kind>& kind) {
  return std::string(kind.param.network) + "_" + kind.param.platform;
}
INSTANTIATE_TEST_SUITE_P(Networks, LayerKinds, testing::ValuesIn(all_kinds()), name_of_kind);

class KindsByPosition : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Networks, KindsByPosition, testing::ValuesIn(kinds_by_position()), name_of_kind);

Prepared prepared_kind(const Kind& kind) {
  return Prepared(kind.platform, {}, {},
                  HALFSTEP_SOURCE_DIR "/tests/equivalence/kinds/" + std::string(kind.network) + ".ir");
}

void expect_same_codes(const Kind& kind) {
  Prepared prepared = prepared_kind(kind);
  EXPECT_TRUE(quant::float_fallback(prepared.model).empty());
  const Model integer = quant::convert(prepared.model).model;
  const auto report = prepared.compare(api::paths_of(prepared.model, integer));
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << layer.layer.name;
  }
  for (const auto& layer : verify::check_semantics(prepared.model, integer, {.all = true}, prepared.pool)) {
    EXPECT_GT(layer.semantics.compared, 0) << layer.layer;
    EXPECT_EQ(layer.semantics.beyond, 0) << layer.layer;
  }
}

// A5.25, A5.26, A5.27, A5.28, A5.30, A7.1, A12.1
TEST_P(LayerKinds, BecomeIntegersWithTheSameCodes) { expect_same_codes(GetParam()); }

// A5.61, A5.62, A5.63, A5.64, A5.65, A7.1, A12.1
TEST_P(KindsByPosition, BecomeIntegersWithTheSameCodes) { expect_same_codes(GetParam()); }

/// The network without quantizers has the values of the source model.
// A12.6
TEST_P(LayerKinds, KeepTheValuesOfTheSource) {
  Prepared prepared = prepared_kind(GetParam());
  const Model form = quant::source_form(prepared.model);
  const auto report = verify::same_floats(prepared.model.source->network, form, prepared.parts.test.inputs(0, 3),
                                          {.elements = 1000}, prepared.pool);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front().value;
  EXPECT_GT(report.compared, 0);
}

Tensors run_with(const Model& model, const Tensors& inputs, ThreadPool& pool) {
  return compile(specialize(model, {{"x", inputs.at("x").dims()}})).run(inputs, pool);
}

/// A network of dynamic extents has the codes of one that was converted for these extents.
// A5.31
TEST(OpenImages, HaveTheCodesOfFixedExtents) {
  for (const char* platform : {"generic_int8", "pow2_int8"}) {
    Prepared prepared = prepared_kind({"open_images", platform});
    const Model open = quant::convert(prepared.model).model;
    for (const Dims& size : {Dims{3, 1, 8, 8}, Dims{2, 1, 5, 9}, Dims{1, 1, 1, 13}}) {
      Tensor image(DType::f32, size);
      Random random(5, static_cast<uint64_t>(size[3]));
      for (float& pixel : image.data<float>()) pixel = random.uniform() * 16;
      const Model fixed = quant::convert(specialize(prepared.model, {{"x", size}})).model;
      const Tensors of_open = run_with(open, {{"x", image}}, prepared.pool);
      EXPECT_TRUE(of_open.at("logits").same_bits(run_with(fixed, {{"x", image}}, prepared.pool).at("logits")))
          << platform << " " << to_string(size);
    }
  }
}

/// Bit widths also apply to layers inside of scans: 8-bit gates with a state of 16 bits.
// A5.27, A7.1
TEST(RecurrentKinds, StatesMayHaveMoreBitsThanGates) {
  Prepared prepared("generic_int8", {}, {{"activations.legal_bits", "[8, 16]"}},
                    HALFSTEP_SOURCE_DIR "/tests/equivalence/kinds/recurrent.ir");
  quant::set_bits(prepared.model, "lstm.add_*", std::nullopt, 16);
  std::map<int, int> widths;
  for (const auto& quantizer : prepared.model.graph.all<ops::FakeQuantize>()) {
    if (quantizer.name().starts_with("lstm.add_")) ++widths[quant::bits_of(quantizer)];
  }
  EXPECT_EQ(widths.size(), 1U);
  EXPECT_GE(widths[16], 2) << "the cell state of both directions";
  const auto report = prepared.compare(api::paths_of(prepared.model, quant::convert(prepared.model).model));
  EXPECT_TRUE(report.equal());
}

TEST(RecurrentKinds, BitWidthsOfAScheduleReachLayersInside) {
  Prepared prepared("generic_int8", {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/kinds/recurrent.ir");
  quant::set_inner_bits(prepared.model, 4, 4);
  const auto& edges = first_last_scales(prepared.model);
  int inside = 0;
  for (const auto& quantizer : prepared.model.graph.all<ops::FakeQuantize>()) {
    if (!is_in_region(quantizer) || edges.contains(passes::scale_tensor(quantizer).name())) continue;
    EXPECT_EQ(quant::bits_of(quantizer), 4) << quantizer.name();
    ++inside;
  }
  EXPECT_GT(inside, 20);
}

/// Coupled gates have no form as a scan.
TEST(LayerKindsInFloat, NameTheirReason) {
  const auto couple = [](Model& model) {
    const ops::Lstm lstm = model.graph.all<ops::Lstm>().front();
    Attributes attributes = lstm.attributes();
    attributes["input_forget"] = true;
    lstm.set_attributes(attributes);
  };
  Prepared prepared("generic_int8", {}, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/kinds/recurrent.ir", couple);
  EXPECT_EQ(prepared.model.metadata.float_operators.at("lstm"),
            "lstm has no integer implementation: its input and forget gates are coupled");
}

class KindsInC : public CBackend {};

/// The states of a recurrent layer pass from step to step as codes.
// A7.1
TEST_F(KindsInC, RecurrentLayersHaveTheCodesOfTheIntegersWithoutFloatsInside) {
  for (const char* platform : {"generic_int8", "pow2_int8"}) {
    Prepared prepared = prepared_kind({"recurrent", platform});
    const auto program = formats::c::c_program(quant::convert(prepared.model).model, {.name = "recurrent"});
    for (const auto& layer : program.layers) EXPECT_FALSE(layer.is_inside && is_float(layer.type.dtype)) << layer.name;
    EXPECT_TRUE(program.fallbacks.empty()) << platform;
    EXPECT_FALSE(program.uses_floats) << platform;
    const auto report = compare(prepared, with_compiler("cc -O1"));
    EXPECT_TRUE(report.equal()) << platform;
    const auto compared = [](const auto& layer) { return layer.engine_compared > 0; };
    EXPECT_GE(std::ranges::count_if(report.layers, compared), 15) << platform;
    EXPECT_GT(report.layers.back().engine_compared, 0) << platform;
  }
}

}  // namespace
}  // namespace halfstep::test
