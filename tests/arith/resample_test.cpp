// Integer weights of a resampling.
#include "halfstep/core/arith/resample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace halfstep::arith {
namespace {

Resampling linear(std::vector<double> scales, const std::string& mode = "linear") {
  return {.scales = std::move(scales),
          .policy = "stretch",
          .mode = mode,
          .nearest_mode = "floor",
          .coordinates = "half_pixel"};
}

// A5.30
TEST(Resampling, WeightsOfAnElementAddUp) {
  for (const char* mode : {"linear", "cubic"}) {
    for (const ResampledAxis& axis : resampled_axes(linear({1.0, 1.6, 0.7}, mode), {3, 7, 9}, {3, 11, 6})) {
      const auto weights = integer_weights(axis, 11);
      ASSERT_EQ(weights.size(), axis.weights.size());
      for (size_t first = 0; first < weights.size(); first += static_cast<size_t>(axis.width)) {
        const auto begin = weights.begin() + static_cast<ptrdiff_t>(first);
        EXPECT_EQ(std::accumulate(begin, begin + axis.width, 0), 2048);
      }
      for (size_t i = 0; i < weights.size(); ++i)
        EXPECT_LE(std::fabs(weights[i] - std::ldexp(axis.weights[i], 11)), 0.5 * static_cast<double>(axis.width)) << i;
    }
  }
}

/// Twice as many elements have weights of one and three quarters.
// A5.30
TEST(Resampling, WeightsOfDoubledAxesAreExact) {
  const auto axes = resampled_axes(linear({2.0}), {3}, {6});
  ASSERT_EQ(axes.size(), 1U);
  EXPECT_EQ(integer_weights(axes[0], 11),
            (std::vector<int32_t>{512, 1536, 1536, 512, 512, 1536, 1536, 512, 512, 1536, 1536, 512}));
}

}  // namespace
}  // namespace halfstep::arith
