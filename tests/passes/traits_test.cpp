#include "halfstep/passes/graph/traits.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

/// Operators with the `codes` trait keep a graph from being optimized as a pure float graph.
TEST(Traits, OperatorsThatHaveCodes) {
  for (const OpInfo& info : all_operators()) {
    const bool on_codes = info.quant.trait == Trait::quantizer || info.record.starts_with("ops/integer.yaml");
    EXPECT_TRUE(info.codes || !on_codes) << info.name;
    EXPECT_FALSE(info.codes && info.elementwise) << info.name;
    EXPECT_FALSE(info.codes && info.quant.trait == Trait::weighted) << info.name;
  }
  EXPECT_TRUE(ops::FakeQuantizeDequantizeAbsMax::record().codes);
  EXPECT_TRUE(ops::DequantizePerChannel::record().codes);       // stated in its record
  EXPECT_FALSE(ops::MovingAverageAbsMaxScale::record().codes);  // also stated: it only observes
  EXPECT_FALSE(ops::Concat::record().codes);                    // operates on codes or on floats
}

TEST(Traits, ElementwiseOperators) {
  EXPECT_TRUE(ops::Add::record().elementwise);
  EXPECT_TRUE(ops::Relu::record().elementwise);
  EXPECT_TRUE(ops::Prelu::record().elementwise);
  EXPECT_FALSE(ops::Softmax::record().elementwise);
}

TEST(Traits, NamesAreThoseOfTheSchema) {
  EXPECT_EQ(name(Trait::fuses_into_producer), "fuses_into_producer");
  EXPECT_EQ(parse_trait("same_scale"), Trait::same_scale);
  EXPECT_EQ(parse_accumulation("window"), Accumulation::window);
  EXPECT_EQ(parse_trait("heavy"), std::nullopt);
  EXPECT_EQ(parse_trait(""), std::nullopt);
}

}  // namespace
}  // namespace halfstep::passes
