// Attention with masks: only the condition stays in float, hidden scores leave a scale to the others, both execution
// paths agree, and the semantic check passes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/open_source.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

void set_numbers(Model& model) {
  const auto number = [&](const std::string& name, float value) { model.tensors.at(name) = Tensor::scalar(value); };
  number("bright", 0.3F);
  number("never", -std::numeric_limits<float>::infinity());
  number("nothing", 0.0F);
  number("root", std::sqrt(8.0F));
  Tensor ahead(DType::f32, {64, 64});
  for (size_t i = 0; i < 64; ++i) {
    for (size_t j = i + 1; j < 64; ++j) ahead.data<float>()[i * 64 + j] = std::numeric_limits<float>::lowest();
  }
  model.tensors.at("ahead") = ahead;
}

Prepared masks(quant::PrepareOptions bit_widths = {}) {
  return Prepared("generic_int8", bit_widths, {}, HALFSTEP_SOURCE_DIR "/tests/equivalence/masks.ir", set_numbers);
}

// A5.17
TEST(Masks, LeaveNothingButTheConditionInFloat) {
  std::set<std::string> in_float;
  for (const auto& [layer, reason] : masks().model.metadata.float_operators) in_float.insert(layer);
  EXPECT_EQ(in_float, (std::set<std::string>{"pixels", "sees"}));  // the condition reads the image before its quantizer
}

/// Expects a scale from the largest distance in a row that matters for 64 elements and 8 bits, and not from the number
/// in a mask.
// A3.13
TEST(Masks, LeaveAScale) {
  const Prepared prepared = masks();
  for (const auto& quantizer : prepared.model.graph.all<ops::FakeQuantize>()) {
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    const float low = prepared.model.tensors.at(observer.low().name()).data<float>()[0];
    EXPECT_GT(low, -40) << quantizer.x().name();
    const bool is_masked = observer.reach() > 0;
    EXPECT_EQ(is_masked, std::set<std::string>({"scaled", "others", "fused.scaled"}).contains(quantizer.x().name()))
        << quantizer.x().name();
    EXPECT_NEAR(observer.reach(), is_masked ? std::log(512.0 * 64) : 0, 1e-6);
  }
}

class MasksWith : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Bits, MasksWith, testing::Values(8, 4));

// A5.17, A7.1, A12.2
TEST_P(MasksWith, BothPathsAreEqualAndMeanIt) {
  quant::PrepareOptions bit_widths;
  bit_widths.weight_bits = bit_widths.activation_bits = GetParam();
  Prepared prepared = masks(bit_widths);
  const Model integer = quant::convert(prepared.model, {.float_fallback = true}).model;
  const auto report = prepared.compare(api::paths_of(prepared.model, integer));
  EXPECT_GT(report.layers.size(), 20U);
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << layer.layer.name;
  }
  const Model opened = passes::with_open_source(prepared.model);
  for (const auto& layer : verify::check_semantics(opened, integer, {.all = true}, prepared.pool))
    EXPECT_EQ(layer.semantics.beyond, 0) << layer.layer;
}

}  // namespace
}  // namespace halfstep::test
