// Numbers of operators on codes that depend on dynamic extents.
#include "halfstep/passes/graph/settle_extents.h"

#include <gtest/gtest.h>

#include "halfstep/core/arith/errors.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/graph/errors.h"
#include "tests/support/error.h"

namespace halfstep::passes {
namespace {

Model mean_of(const std::string& x, const std::string& attributes) {
  Model model;
  model.graph = parse("graph g(x: " + x + ") {\n  y = integer_reduce_mean(x) {axes: [1], multiplier: 0, shift: 0" +
                          attributes + "}\n  return y\n}\n",
                      "g.ir");
  return model;
}

// A5.31
TEST(SettleExtents, TheDivisorIsTheNumberOfElements) {
  Model model = mean_of("u8[2, 6]", ", x_scale: 0.75, y_scale: 0.125");
  settle_extents(model);
  const ops::IntegerReduceMean mean(model.graph.op("y").node());
  EXPECT_EQ(std::ldexp(static_cast<double>(mean.multiplier()), -static_cast<int>(mean.shift())), 1.0);
  Model shifts = mean_of("u8[2, 7]", ", x_scale: 0.125, y_scale: 0.125, requantize: \"power_of_two\", average_bits: 5");
  settle_extents(shifts);
  const ops::IntegerReduceMean by_shift(shifts.graph.op("y").node());
  EXPECT_EQ(std::ldexp(static_cast<double>(by_shift.multiplier()), -static_cast<int>(by_shift.shift())), 9.0 / 64);
}

/// The regions of a loop may have extents that only an iteration knows.
TEST(SettleExtents, OperatorsOfDynamicExtentsWait) {
  Model model = mean_of("u8[2, ?]", "");
  settle_extents(model);
  EXPECT_EQ(ops::IntegerReduceMean(model.graph.op("y").node()).shift(), 0);
}

TEST(SettleExtents, AnEpsilonWithoutRoomIsRefused) {
  Model model;
  model.graph = parse(
      "graph g(x: u8[2, 6]) {\n  param @f: i32[1]\n  param @b: i64[1]\n  y = integer_norm(x, factor=@f, bias=@b) "
      "{epsilon: 0, guard: 0, shift: 20, row_epsilon: 1e+30}\n  return y\n}\n",
      "g.ir");
  const Diagnostic refusal = test::diagnostic_of([&] { settle_extents(model); });
  EXPECT_EQ(refusal.entry, &errors::norm_without_room_entry);
  EXPECT_EQ(refusal.layer, "y");
}

TEST(SettleExtents, AnExtentThatNoMultiplierDividesIsRefused) {
  Model model = mean_of("u8[2, 6]", ", x_scale: 1e+30, y_scale: 1e-06");
  EXPECT_EQ(test::diagnostic_of([&] { settle_extents(model); }).entry, &errors::average_not_requantizable_entry);
  Model large = mean_of("u16[1, 2147516417]", "");
  EXPECT_EQ(test::diagnostic_of([&] { settle_extents(large); }),
            errors::average_too_large("g.ir:2: node 'y'", 2147516417, 2147516416));
}

}  // namespace
}  // namespace halfstep::passes
