// An attention block entirely on codes: nothing stays in float, both execution paths agree, and the semantic check
// passes.
#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

Prepared attention(const std::string& platform, const std::vector<std::pair<std::string, std::string>>& overrides = {},
                   quant::PrepareOptions bit_widths = {}) {
  return Prepared(platform, bit_widths, overrides, HALFSTEP_SOURCE_DIR "/tests/equivalence/attention.ir");
}

void expect_equal(Prepared& prepared, const Model& integer) {
  const auto report = prepared.compare(api::paths_of(prepared.model, integer));
  EXPECT_GT(report.layers.size(), 20U);
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << layer.layer.name;
  }
  const auto semantics = verify::check_semantics(prepared.model, integer, {.all = true}, prepared.pool);
  for (const auto& layer : semantics) EXPECT_EQ(layer.semantics.beyond, 0) << layer.layer;
}

// A5.3, A5.11
TEST(Attention, HasNothingInFloat) {
  for (const char* platform : {"generic_int8", "pow2_int8"})
    EXPECT_EQ(attention(platform).model.metadata.float_operators, FloatOperators()) << platform;
}

class AttentionOn : public testing::TestWithParam<std::pair<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(ExecutionPaths, AttentionOn,
                         testing::Values(std::pair{"generic_int8", 8}, std::pair{"generic_int8", 4},
                                         std::pair{"pow2_int8", 8}, std::pair{"signed_pow2_int8", 8},
                                         std::pair{"signed_pow2_int8", 16}, std::pair{"pplw8a16", 16},
                                         std::pair{"onnxruntime_int8", 8}),
                         [](const auto& c) { return c.param.first + ("_" + std::to_string(c.param.second)); });

// A7.1, A12.2
TEST_P(AttentionOn, BothPathsAreEqualAndMeanIt) {
  const auto [platform, bits] = GetParam();
  quant::PrepareOptions bit_widths;
  bit_widths.weight_bits = std::min(bits, 8);
  bit_widths.activation_bits = bits;
  Prepared prepared = attention(platform, {}, bit_widths);
  const auto conversion = quant::convert(prepared.model, {.float_fallback = true});
  expect_equal(prepared, conversion.model);
}

/// The shifts of other chips round differently.
// A4.5
TEST(Attention, RoundsAsThePlatformSays) {
  for (const char* rounding : {"half_even", "half_away", "truncate", "doubled"}) {
    Prepared prepared = attention("generic_int8", {{"requantize.rounding", rounding}});
    expect_equal(prepared, quant::convert(prepared.model).model);
  }
}

TEST(Attention, AChangedNumberIsFound) {
  Prepared prepared = attention("generic_int8");
  const auto conversion = quant::convert(prepared.model);
  const auto first_wrong = [&](const std::string& tensor, auto change) {
    Model changed = conversion.model;
    Tensor& contents = changed.tensors.at(tensor);
    contents = contents.clone();
    change(contents);
    const auto report = prepared.compare(api::paths_of(prepared.model, changed));
    for (const auto& layer : report.layers) {
      if (layer.activation) return layer.layer.name;
    }
    return std::string("none");
  };
  EXPECT_EQ(first_wrong("shares.fine", [](Tensor& t) { t.data<int32_t>()[3] /= 2; }), "shares");
  EXPECT_EQ(first_wrong("norm.factor", [](Tensor& t) { t.data<int32_t>()[5] /= 2; }), "norm");
  EXPECT_EQ(first_wrong("norm.bias", [](Tensor& t) { t.data<int64_t>()[5] += int64_t{1} << 45; }), "norm");
  EXPECT_EQ(first_wrong("position.q.codes", [](Tensor& t) { t.data<uint8_t>()[9] ^= 64; }), "position.q");
}

}  // namespace
}  // namespace halfstep::test
