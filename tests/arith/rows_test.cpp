// Integer softmax and row normalizations, compared with double arithmetic. Errors stay within the bounds that
// docs/arithmetic.md, section 5, states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "halfstep/core/arith/errors.h"
#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"
#include "halfstep/core/base/random.h"
#include "tests/support/error.h"

namespace halfstep::arith {
namespace {

std::vector<int64_t> random_codes(int64_t count, int64_t most, uint64_t seed) {
  std::vector<int64_t> codes;
  Random random(seed, 0);
  for (int64_t i = 0; i < count; ++i)
    codes.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(most + 1))));
  return codes;
}

struct RowCase {
  int64_t count, most;
  float x_scale, y_scale;
};

const RowCase kRows[] = {{1, 255, 0.05F, 1.0F / 255}, {2, 255, 0.3F, 0.004F},    {64, 255, 0.03F, 1.0F / 255},
                         {65, 3, 2.0F, 0.01F},        {1000, 255, 0.1F, 0.001F}, {197, 65535, 0.0003F, 1.0F / 65535},
                         {4096, 65535, 1e-5F, 1e-6F}};

// A5.12
TEST(RowSoftmax, LiesWithinItsError) {
  for (const RowCase& row : kRows) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto codes = random_codes(row.count, row.most, seed);
      const Exponentials exponentials(row.x_scale);
      const int64_t largest = *std::ranges::max_element(codes);
      int64_t sum = 0;
      double real_sum = 0;
      const auto real = [&](int64_t code) {
        return std::exp(-static_cast<double>(largest - code) * static_cast<double>(row.x_scale));
      };
      for (const int64_t code : codes) {
        sum += exponentials.at(largest - code);
        real_sum += real(code);
      }
      Requantizer factor;
      ASSERT_TRUE(RequantizeRule{}.for_quotient(row.y_scale, factor).ok());
      const Multiplier multiplier = std::get<FixedScale>(factor).positive;
      for (const int64_t code : codes) {
        const double steps = real(code) / real_sum / static_cast<double>(row.y_scale);
        const int64_t found = softmax_code(exponentials.at(largest - code), sum, multiplier, ShiftRounding::half_up, 7);
        const double error = (1.5 * static_cast<double>(row.count) * 0x1p-30 + 0x1p-31 + 0x1p-40) * steps +
                             1.5 * 0x1p-30 / static_cast<double>(row.y_scale) + 0x1p-40;
        EXPECT_LE(std::fabs(static_cast<double>(found - 7) - steps), 0.5 + error) << row.count << " " << row.most;
      }
    }
  }
}

// A5.9
TEST(RowSoftmax, NothingLiesBetweenTwoTables) {
  for (const float scale : {1e-7F, 0.0003F, 0.05F, 3.0F}) {
    const Exponentials exponentials(scale);
    EXPECT_EQ(exponentials.at(0), int64_t{1} << 30);
    for (int64_t steps = 1; steps < 65536; ++steps) {
      EXPECT_LE(exponentials.at(steps), exponentials.at(steps - 1) + 1);
      const double real = std::exp(-static_cast<double>(steps) * static_cast<double>(scale)) * 0x1p30;
      ASSERT_LE(std::fabs(static_cast<double>(exponentials.at(steps)) - real), 1.5) << steps;
    }
  }
}

struct Norm {
  bool centered;
  double epsilon;
};

/// Compares the integer result of one row with the double result.
void check_norm(const RowCase& row, const Norm& norm, const std::vector<int64_t>& codes, int64_t zero_point) {
  std::vector<float> scale, bias;
  Random random(99, 1);
  for (int64_t i = 0; i < row.count; ++i) {
    scale.push_back(random.uniform() * 3 - 1);
    bias.push_back(norm.centered ? random.uniform() - 0.5F : 0.0F);
  }
  const int bits = row.most > 255 ? 16 : 8;
  RowNorm derived;
  ASSERT_TRUE(derive({scale, bias, norm.epsilon, row.x_scale, row.y_scale, bits}, derived).ok());
  int64_t sum = 0, squares = 0;
  double mean = 0, spread = 0;
  for (const int64_t code : codes) {
    sum += code - zero_point;
    squares += (code - zero_point) * (code - zero_point);
  }
  const auto count = static_cast<double>(row.count);
  const auto x_scale = static_cast<double>(row.x_scale), y_scale = static_cast<double>(row.y_scale);
  if (norm.centered) mean = static_cast<double>(sum) / count;
  for (const int64_t code : codes) spread += std::pow(static_cast<double>(code - zero_point) - mean, 2) / count;
  const auto root = RowRoot::of(row.count, sum, squares, norm.centered, derived.epsilon, derived.guard);
  const double most_scale = 2, most_bias = 0.5;
  for (size_t i = 0; i < codes.size(); ++i) {
    const double deviation = (static_cast<double>(codes[i] - zero_point) - mean) * x_scale;
    const double denominator = std::sqrt(spread * x_scale * x_scale + norm.epsilon);
    const double normal = denominator == 0 ? 0 : deviation / denominator;
    const double steps = (normal * static_cast<double>(scale[i]) + static_cast<double>(bias[i])) / y_scale;
    const int64_t found = norm_code(root.normalized(codes[i] - zero_point), derived.factor[i], derived.bias[i],
                                    derived.shift, ShiftRounding::half_up, -3);
    const double relative = 0x1p-29 + std::ldexp(1.0, -derived.guard - 2) / std::max(1.0, count - 1) + 0x1p-40;
    const double error = relative * (std::fabs(steps) + most_bias / y_scale) + most_scale / y_scale * 0x1p-21 +
                         std::sqrt(count) * std::ldexp(1.0, 19 - derived.shift) + std::ldexp(1.0, -derived.shift - 1);
    EXPECT_LE(std::fabs(static_cast<double>(found + 3) - steps), 0.5 + error)
        << row.count << " elements up to " << row.most << ", guard " << derived.guard << ", shift " << derived.shift;
  }
}

// A5.9, A5.12
TEST(RowNorm, LiesWithinItsError) {
  for (const RowCase& row : kRows) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      for (const Norm norm : {Norm{true, 1e-5}, Norm{false, 1e-6}, Norm{true, 0.0}})
        check_norm(row, norm, random_codes(row.count, row.most, seed), row.most / 2);
    }
  }
}

TEST(RowNorm, RowsOfOneCodeAndOfTwo) {
  for (const RowCase& row : kRows) {
    std::vector<int64_t> codes(static_cast<size_t>(row.count), 5);
    check_norm(row, {true, 1e-5}, codes, 9);
    check_norm(row, {true, 0.0}, codes, 5);
    codes.back() = 6;  // the smallest possible spread
    check_norm(row, {true, 1e-5}, codes, 5);
    check_norm(row, {false, 0.0}, codes, 5);
    codes.back() = row.most;
    check_norm(row, {true, 1e-5}, codes, 0);
  }
}

// A5.10
TEST(RowNorm, SaysWhereThereIsNoRoom) {
  const std::vector<float> scale(64, 1.0F), large(64, 1e30F);
  RowNorm derived;
  const auto reason = [&](const NormNumbers& numbers) { return derive(numbers, derived).diagnostic(); };
  EXPECT_EQ(reason({scale, {}, 1e30, 1e-6F, 0.1F, 8}), errors::norm_without_room("1e+42", 64));
  EXPECT_EQ(reason({large, {}, 1e-5, 0.1F, 1e-6F, 8}).entry, &errors::norm_without_factors_entry);
  EXPECT_TRUE(derive({scale, {}, 1e-5, 0.1F, 0.1F, 8}, derived).ok());
}

}  // namespace
}  // namespace halfstep::arith
