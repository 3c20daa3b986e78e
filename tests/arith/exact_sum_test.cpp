// Sums that do not depend on the order of their terms or on how they are split.
#include "halfstep/core/arith/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "halfstep/core/base/random.h"

namespace halfstep::arith {
namespace {

/// Adds the terms in parts of `part` terms.
ExactSum sum_of(const std::vector<double>& terms, const TermGrid& grid, size_t part) {
  ExactSum sum;
  for (size_t begin = 0; begin < terms.size(); begin += part) {
    TermParts parts;
    for (size_t i = begin; i < std::min(terms.size(), begin + part); ++i) parts.add(terms[i], grid);
    sum.add(parts, grid);
  }
  return sum;
}

std::vector<double> terms_of(int64_t count) {
  std::vector<double> terms;
  Random random(7, 0);
  for (int64_t i = 0; i < count; ++i) {
    const double normal = random.normal();
    terms.push_back(i % 97 == 0 ? 100 * normal : normal / 1e6);
  }
  return terms;
}

// A3.9
TEST(ExactSum, IsTheSameInAnyOrderAndSplit) {
  std::vector<double> terms = terms_of(30000);
  const TermGrid grid(10);
  const double all = sum_of(terms, grid, 30000).value(grid);
  for (const size_t part : {1, 7, 4096}) EXPECT_EQ(sum_of(terms, grid, part).value(grid), all);
  std::ranges::reverse(terms);
  EXPECT_EQ(sum_of(terms, grid, 100).value(grid), all);
  std::ranges::sort(terms);
  EXPECT_EQ(sum_of(terms, grid, 65536).value(grid), all);
}

TEST(ExactSum, IsNearerThanDoublesInOneOrder) {
  const std::vector<double> terms = terms_of(30000);
  const TermGrid grid(10);
  long double wide = 0;
  for (const double term : terms) wide += term;
  EXPECT_NEAR(sum_of(terms, grid, 64).value(grid), static_cast<double>(wide), 1e-13);
}

// A3.9
TEST(ExactSum, OfTheLargestTerms) {
  const TermGrid grid(3);
  ExactSum sum;
  TermParts parts;
  for (int64_t i = 0; i < kTermsOfPart; ++i) parts.add(1e30, grid);  // counts as the bound
  for (int i = 0; i < 1000; ++i) sum.add(parts, grid);
  EXPECT_EQ(sum.value(grid), 8.0 * kTermsOfPart * 1000);
}

// A3.10
TEST(ExactSum, OfSeveralSumsAndAShareOfOne) {
  const std::vector<double> terms = terms_of(500);
  const TermGrid grid(9);
  const ExactSum one = sum_of(terms, grid, 500);
  std::vector<double> again;
  for (int i = 0; i < 7; ++i) again.insert(again.end(), terms.begin(), terms.end());
  ExactSum seven = sum_of(again, grid, 33);
  ExactSum times = one;
  times.add(one, 6);
  EXPECT_EQ(times.value(grid), seven.value(grid));
  seven.divide(7);
  EXPECT_EQ(seven.value(grid), one.value(grid));
  seven.add(one, -1);
  EXPECT_EQ(seven.value(grid), 0.0);
}

TEST(ExactSum, IsHeldByDoubles) {
  const std::vector<double> terms = terms_of(5000);
  const TermGrid grid(9);
  const ExactSum sum = sum_of(terms, grid, 64);
  std::vector<double> digits(ExactSum::kDigits);
  sum.store(digits);
  EXPECT_EQ(ExactSum(digits).value(grid), sum.value(grid));
}

}  // namespace
}  // namespace halfstep::arith
