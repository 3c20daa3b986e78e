// Bit widths that change after calibration, on both execution paths.
#include <gtest/gtest.h>

#include "halfstep/quant/prepare/quantizer.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

// A7.1
TEST(SetBits, ChangesBitWidthsAtAnyTime) {
  Prepared p("generic_int8");
  quant::set_bits(p.model, "conv[345]", 4, 4);
  EXPECT_EQ(quant::bits_of(ops::FakeQuantize(p.model.graph.op("conv4.w.q").node())), 4);
  EXPECT_EQ(quant::bits_of(ops::FakeQuantize(p.model.graph.op("relu4.q").node())), 4);
  EXPECT_TRUE(quant::is_learned(ops::FakeQuantize(p.model.graph.op("relu4.q").node())));
  EXPECT_TRUE(p.compare(api::paths_of(p.model, quant::convert(p.model).model)).equal());
  quant::set_bits(p.model, "*", 8, 8);
  EXPECT_FALSE(quant::is_learned(ops::FakeQuantize(p.model.graph.op("relu4.q").node())));
  EXPECT_TRUE(p.compare(api::paths_of(p.model, quant::convert(p.model).model)).equal());
}

}  // namespace
}  // namespace halfstep::test
