// Observed range of rows in front of a softmax: by the ends of each row, or element by element, with the same result.
#include "halfstep/passes/canonical/within_reach.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/passes/canonical/code_forms.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

constexpr auto kGraph = R"(graph rows(x: f32[2, 4, 5]) {
  state @l: f32[1]
  state @h: f32[1]
  state @s: f32[1]
  state @z: i32[1]
  y = softmax(x)
  o = observe_range(low=@l, high=@h, scale=@s, zero_point=@z, x=[x]) {merge: "last", reach: 3.0, is_test: false}
  return y
})";

struct Ends {
  float low, high;
};

Ends seen(const Tensor& x) {
  Model model = sample_model(parse(kGraph));
  within_reach(model);
  verify(model.graph);
  const auto observers = model.graph.all<ops::ObserveRange>();
  EXPECT_EQ(observers.size(), 1U);
  EXPECT_EQ(observers[0].reach(), 0.0);
  EXPECT_EQ(observers[0].x()[0].dims(), (Dims{2, 4, 2}));
  const auto values = run_reference(model, {{"x", x}});
  const auto number = [&](int port) { return values.at(observers[0].out(port).name()).data<float>()[0]; };
  return {number(0), number(1)};
}

/// Follows the record of observe_range: a row that a mask hides as a whole counts as zeros, and a row with a NaN is
/// skipped.
Ends element_by_element(const Tensor& x) {
  Ends ends{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  const auto all = x.data<float>();
  for (size_t row = 0; row < all.size(); row += 5) {
    float top = -std::numeric_limits<float>::infinity();
    bool is_whole = true;
    for (size_t i = row; i < row + 5; ++i) {
      top = std::max(top, all[i]);
      is_whole = is_whole && !std::isnan(all[i]);
    }
    for (size_t i = row; is_whole && i < row + 5; ++i) {
      const float element = std::max(all[i], top <= kHidden ? 0.0F : top - 3.0F);
      ends = {std::min(ends.low, element), std::max(ends.high, element)};
    }
  }
  return ends;
}

// A3.13
TEST(WithinReach, EndsOfRowsHaveTheRangeOfTheirElements) {
  const Tensor plain = sample("x", {DType::f32, {2, 4, 5}});
  for (const float far : {-2.0F, -2.5F, -7.0F, 2 * kHidden, -std::numeric_limits<float>::infinity()}) {
    for (const size_t hidden : {0, 1, 5, 12}) {
      Tensor x = plain.clone();
      for (size_t i = 0; i < hidden; ++i) x.data<float>()[i] = far;
      x.data<float>()[31] = hidden == 1 ? std::numeric_limits<float>::quiet_NaN() : 4.5F;
      const Ends got = seen(x), want = element_by_element(x);
      EXPECT_EQ(got.low, want.low) << far << " " << hidden;
      EXPECT_EQ(got.high, want.high) << far << " " << hidden;
    }
  }
}

TEST(WithinReach, OtherMethodsSeeEveryElement) {
  Model model = sample_model(parse(kGraph));
  const auto observer = model.graph.all<ops::ObserveRange>()[0];
  Attributes attributes = observer.attributes();
  attributes["method"] = std::string("mse");
  observer.set_attributes(attributes);
  within_reach(model);
  EXPECT_EQ(observer.x()[0].dims(), (Dims{2, 4, 5}));
}

}  // namespace
}  // namespace halfstep::passes
