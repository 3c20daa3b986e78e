// The solver, compared with an exhaustive search.
#include "halfstep/tune/allocation/linear_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/base/random.h"

namespace halfstep::allocation {
namespace {

/// One bit width per layer, with two kinds of cost. One or both are bounded.
TEST(Program, FindsWhatTryingEverythingFinds) {
  constexpr int kLayers = 6, kBitWidths = 4;
  Random random(7, 0);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> sensitivity(kLayers * kBitWidths), size(sensitivity.size()), time(sensitivity.size());
    for (size_t i = 0; i < sensitivity.size(); ++i) {
      sensitivity[i] = static_cast<double>(random.uniform());
      size[i] = static_cast<double>(100 + random.below(1000));
      time[i] = static_cast<double>(1 + random.below(50));
    }
    const double most_size = 3000, most_time = trial % 2 == 0 ? 120 : 1e9;
    Program program;
    for (const double cost : sensitivity) program.add(cost);
    Terms sizes, times;
    for (int layer = 0; layer < kLayers; ++layer) {
      Terms one;
      for (int i = layer * kBitWidths; i < (layer + 1) * kBitWidths; ++i) {
        one.emplace_back(i, 1.0);
        sizes.emplace_back(i, size[static_cast<size_t>(i)]);
        times.emplace_back(i, time[static_cast<size_t>(i)]);
      }
      program.require(one, 1, 1);
    }
    program.require(sizes, 0, most_size);
    program.require(times, 0, most_time);
    double best = 1e30;
    for (int code = 0; code < (1 << (2 * kLayers)); ++code) {
      double h = 0, s = 0, t = 0;
      for (int layer = 0; layer < kLayers; ++layer) {
        const auto i = static_cast<size_t>(layer * kBitWidths + ((code >> (2 * layer)) & 3));
        h += sensitivity[i];
        s += size[i];
        t += time[i];
      }
      if (s <= most_size && t <= most_time) best = std::min(best, h);
    }
    const Solution found = program.solve();
    ASSERT_EQ(found.is_feasible, best < 1e30) << trial;
    if (!found.is_feasible) continue;
    EXPECT_NEAR(found.objective, best, 1e-9) << trial;
    EXPECT_NEAR(found.bound, best, 1e-6) << trial;
  }
}

/// Large networks have as many layers. The result is near the optimum, after a number of nodes that is bounded in
/// advance.
TEST(Program, EndsForHundredsOfLayers) {
  constexpr int kLayers = 250, kFewest = 2, kMost = 8, kNodes = 2'000'000 / (kLayers * (kMost - kFewest + 1));
  Random random(3, 0);
  Program program;
  Terms sizes;
  for (int layer = 0; layer < kLayers; ++layer) {
    const double sensitivity = 0.1 + static_cast<double>(random.uniform()),
                 size = static_cast<double>(100 + random.below(9));
    Terms one;
    for (int width = kFewest; width <= kMost; ++width) {
      const int variable = program.add(sensitivity * std::exp2(-2 * width));
      one.emplace_back(variable, 1.0);
      sizes.emplace_back(variable, width * size);
    }
    program.require(one, 1, 1);
  }
  program.require(sizes, 0, kLayers * 104 * 4.5);
  const Solution found = program.solve();
  ASSERT_TRUE(found.is_feasible);
  EXPECT_LE(found.nodes, kNodes + 1);
  EXPECT_LE(found.bound, found.objective);
  EXPECT_LE(found.objective - found.bound, 1e-2 * found.objective);
}

TEST(Program, SaysWhereThereIsNothing) {
  Program program;
  const int a = program.add(1), b = program.add(2);
  program.require({{a, 1}, {b, 1}}, 3, 3);
  EXPECT_FALSE(program.solve().is_feasible);
}

}  // namespace
}  // namespace halfstep::allocation
