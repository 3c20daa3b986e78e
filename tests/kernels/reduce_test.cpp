// Reductions: the fast kernels against the reference, the reference against plain sums and finite differences.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

using Axes = std::vector<int64_t>;

struct Reduction {
  Dims x;
  Axes axes;
  Dims out;
  bool keep_dims = false;
};

const std::vector<Reduction> kReductions = {
    {{4, 3, 5, 7}, {0, 2, 3}, {3}},
    {{4, 3, 5}, {1}, {4, 1, 5}, true},
    {{4, 3}, {}, {}},
    {{40, 10}, {0}, {10}},
    {{40, 10}, {1}, {40}},
    {{3, 200000}, {-1}, {3}},
    {{300, 2, 300}, {0, 2}, {2}},
    {{2, 3, 4, 5}, {0, 2}, {3, 5}},
    {{6}, {0}, {1}, true},
    {{0, 3}, {0}, {3}},
    {{5, 1000}, {0}, {1000}},
};

KernelCase reduce_case(const char* op, const Reduction& r, DType dtype = DType::f32) {
  return {op, {{"axes", r.axes}, {"keep_dims", r.keep_dims}}, {normal_tensor(r.x, 1, dtype)}, {Type{dtype, r.out}}};
}

TEST(ReduceSum, ChannelsAreWithinRoundingOfTheReference) {
  int accepted = 0;
  for (const Reduction& r : kReductions) {
    const KernelCase use = reduce_case("reduce_sum", r);
    const Tensor want = run_every_way(reference_reduce_sum, use, CpuLevel::scalar)[0];
    if (!verdict_of(cpu_reduce_sum_channels, use, CpuLevel::scalar)) continue;
    ++accepted;
    const Tensor magnitude = run_kernel(reference_reduce_sum, magnitudes(use), CpuLevel::scalar)[0];
    EXPECT_TRUE(within_roundings(want, run_every_way(cpu_reduce_sum_channels, use, CpuLevel::scalar)[0], magnitude, 2))
        << to_string(r.x);
  }
  EXPECT_EQ(accepted, 8);
}

TEST(ReduceSum, RefusalsSayWhy) {
  EXPECT_EQ(refusal_of(cpu_reduce_sum_channels, reduce_case("reduce_sum", kReductions[7]), CpuLevel::scalar),
            errors::kernel_needs_layout("a reduction that keeps neighbouring axes"));
  EXPECT_EQ(refusal_of(cpu_reduce_sum_channels, reduce_case("reduce_sum", kReductions[9]), CpuLevel::scalar),
            errors::kernel_takes_no_empty_operand("x"));
  EXPECT_EQ(
      refusal_of(cpu_reduce_sum_channels, reduce_case("reduce_sum", kReductions[0], DType::f64), CpuLevel::scalar),
      errors::kernel_takes_other_types("x", "f64", "f32"));
}

/// With rows of zeros of both signs, of NaNs with two payloads, and of infinities only.
// A0.1
TEST(ReduceExtremes, RowsMatchTheReference) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::bit_cast<float>(0x7FC00001U), other = std::bit_cast<float>(0xFFC00002U);
  int accepted = 0;
  for (const bool largest : {false, true}) {
    const Kernel& reference = largest ? reference_reduce_max : reference_reduce_min;
    const Kernel& kernel = largest ? cpu_reduce_max_rows : cpu_reduce_min_rows;
    for (const Reduction& r : std::vector<Reduction>{{{7, 64}, {1}, {7}},
                                                     {{7, 3, 37}, {-1}, {7, 3, 1}, true},
                                                     {{3000, 5, 9}, {1, 2}, {3000}},
                                                     {{5, 1}, {1}, {5}}}) {
      KernelCase use = reduce_case(largest ? "reduce_max" : "reduce_min", r);
      use.attributes["noop_with_empty_axes"] = false;
      expect_matches_reference(reference, kernel, use);
      const int64_t row = count_elements(r.x) / count_elements(r.out);
      for (const auto& [some, all] : {std::pair(0.0F, -0.0F), {-0.0F, 0.0F}, {nan, 1.0F}, {infinity, -infinity}}) {
        const auto x = use.in[0].data<float>();
        std::fill_n(x.begin(), row, all);
        x[row / 2] = some;
        if (std::isnan(some)) x[row - 1] = other;
        expect_matches_reference(reference, kernel, use);
      }
      ++accepted;
    }
  }
  EXPECT_EQ(accepted, 8);
  const auto refusal = [](const Reduction& r, DType dtype = DType::f32) {
    KernelCase use = reduce_case("reduce_max", r, dtype);
    use.attributes["noop_with_empty_axes"] = false;
    return refusal_of(cpu_reduce_max_rows, use, available_cpu_levels().back());
  };
  EXPECT_EQ(refusal({{4, 3, 5}, {1}, {4, 5}}), errors::kernel_needs_layout("a reduction of the last axes"));
  EXPECT_EQ(refusal({{4, 0}, {1}, {4}}), errors::kernel_takes_no_empty_operand("x"));
  EXPECT_EQ(refusal({{4, 3}, {1}, {4}}, DType::f64), errors::kernel_takes_other_types("x", "f64", "f32"));
}

// A11.3
TEST(ReduceReference, SumsAndMeansByHand) {
  const Reduction r{{2, 2, 2}, {0, 2}, {2}};
  KernelCase use = reduce_case("reduce_sum", r);
  use.in = {f32_values({2, 2, 2}, {1, 2, 10, 20, 3, 4, 30, 40})};
  EXPECT_TRUE(same_bits(f32_values({2}, {10, 100}), run_kernel(reference_reduce_sum, use, CpuLevel::scalar)[0]));
  EXPECT_TRUE(same_bits(f32_values({2}, {2.5F, 25}), run_kernel(reference_reduce_mean, use, CpuLevel::scalar)[0]));
  use.in = {f32_values({2, 2, 2}, {1e8F, 1, 10, 20, -1e8F, 0, 30, 40})};  // float32 would lose the 1
  EXPECT_TRUE(same_bits(f32_values({2}, {1, 100}), run_kernel(reference_reduce_sum, use, CpuLevel::scalar)[0]));
}

TEST(ReduceReference, GradientsAreThoseOfFiniteDifferences) {
  for (const Reduction& r : kReductions) {
    if (count_elements(r.x) > 1000) continue;
    for (const bool mean : {false, true}) {
      const Tensor out_grad = normal_tensor(r.out, 4, DType::f64);
      const KernelCase use = reduce_case("reduce_sum", r, DType::f64);
      const KernelCase grad{
          "reduce_grad",
          {{"axes", r.axes}, {"keep_dims", r.keep_dims}, {"mean", mean}, {"noop_with_empty_axes", false}},
          {out_grad, use.in[0]},
          {use.in[0].type()}};
      expect_gradient(mean ? reference_reduce_mean : reference_reduce_sum, use, 0, out_grad,
                      run_kernel(reference_reduce_grad, grad, CpuLevel::scalar)[0]);
    }
  }
}

TEST(SumTo, SumsWhatWasRepeated) {
  const auto sum_to = [](const Tensor& x, const Dims& like) {
    return run_kernel(reference_sum_to, {"sum_to", {}, {x, Tensor(DType::u8, like)}, {Type{DType::f32, like}}},
                      CpuLevel::scalar)[0];
  };
  const Tensor x = f32_values({2, 2, 3}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
  EXPECT_TRUE(same_bits(x, sum_to(x, {2, 2, 3})));
  EXPECT_TRUE(same_bits(f32_values({2, 1}, {66, 165}), sum_to(x, {2, 1})));
  EXPECT_TRUE(same_bits(f32_values({3}, {55, 77, 99}), sum_to(x, {3})));
  EXPECT_TRUE(same_bits(f32_values({2, 1, 3}, {5, 7, 9, 50, 70, 90}), sum_to(x, {2, 1, 3})));
  EXPECT_TRUE(same_bits(f32_values({1}, {231}), sum_to(x, {1})));
  EXPECT_TRUE(same_bits(f32_values({}, {231}), sum_to(x, {})));
}

}  // namespace
}  // namespace halfstep::kernels
