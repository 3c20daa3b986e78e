#include "halfstep/core/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace halfstep {
namespace {

using Block = std::array<uint32_t, 4>;

// Known answers of Random123 1.14, tests/kat_vectors, "philox4x32 10": counter words, key words, result.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(UINT64_MAX, UINT64_MAX, UINT64_MAX), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, SequencesDependOnSeedAndStreamAlone) {
  Random a(1, 2), b(1, 2), other_seed(2, 2), other_stream(1, 3);
  int same_seed = 0, same_stream = 0;
  for (int i = 0; i < 100; ++i) {
    const uint32_t bits = a.bits();
    EXPECT_EQ(b.bits(), bits);
    same_seed += other_seed.bits() == bits ? 1 : 0;
    same_stream += other_stream.bits() == bits ? 1 : 0;
  }
  EXPECT_EQ(same_seed + same_stream, 0);
}

TEST(Random, UniformIsInRangeAndCentred) {
  Random random(3, 0);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const float value = random.uniform();
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);  // five standard errors: 5 / sqrt(12e5)
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(4, 0);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 100'000, 0, 0.016);  // five standard errors: 5 / sqrt(1e5)
  EXPECT_NEAR(squares / 100'000, 1, 0.023);
}

TEST(Random, BelowReachesEveryValueAndNoOther) {
  Random random(5, 0);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_LT(random.below(UINT64_MAX), UINT64_MAX);
}

TEST(Random, PermutationsAreShuffled) {
  const std::vector<int64_t> order = Random(6, 0).permutation(1000);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  EXPECT_NE(order, Random(7, 0).permutation(1000));
}

TEST(Random, PermutationsHoldEveryIndexOnce) {
  for (const int64_t n : {0, 1, 2, 1000}) {
    std::vector<int64_t> order = Random(6, 0).permutation(n);
    EXPECT_EQ(order, Random(6, 0).permutation(n));
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  }
}

}  // namespace
}  // namespace halfstep
