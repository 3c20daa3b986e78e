// batch_norm and its gradient: the fast kernels against the reference, the reference against formulas in f64.
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

using In = BatchNorm::in;

const std::vector<Dims> kDims = {{4, 6, 5, 7}, {16, 3},        {32, 16, 8, 8}, {1, 5, 3, 3},
                                 {128, 100},   {2, 3, 33, 65}, {3, 2, 1, 1}};

Tensor positive(const Tensor& tensor) {
  return mapped(tensor, [](float v) { return 0.5F + v * v; });
}

KernelCase norm_case(const Dims& dims, bool is_test, float offset = 0.0F) {
  const Dims c = {dims[1]};
  Tensor x = normal_tensor(dims, 1);
  for (float& v : x.data<float>()) v += offset;
  const Type channel{DType::f32, c};
  KernelCase use{"batch_norm",
                 {{"epsilon", 1e-3}, {"momentum", 0.9}, {"is_test", is_test}},
                 {x, normal_tensor(c, 2), normal_tensor(c, 3), normal_tensor(c, 4), positive(normal_tensor(c, 5))},
                 {Type{DType::f32, dims}, std::nullopt, std::nullopt, std::nullopt, std::nullopt}};
  if (!is_test) use.out = {Type{DType::f32, dims}, channel, channel, channel, channel};
  return use;
}

KernelCase grad_case(const KernelCase& forward, const std::vector<Tensor>& results, const Tensor& out_grad) {
  const Tensor& x = forward.in[In::x];
  const Type channel{DType::f32, {x.dims()[1]}};
  return {"batch_norm_grad",
          {{"epsilon", 1e-3}, {"is_test", false}},
          {x, forward.in[In::scale], results[BatchNorm::out::batch_mean], results[BatchNorm::out::batch_inverse_std],
           out_grad},
          {Type{DType::f32, x.dims()}, channel, channel}};
}

std::vector<CpuLevel> simd_levels() {
  std::vector<CpuLevel> levels = available_cpu_levels();
  levels.erase(levels.begin());
  return levels;
}

/// Every level computes the bits of the first one, near the reference, in any order of pieces.
void expect_levels_near(const Kernel& reference, const Kernel& kernel, const KernelCase& use) {
  const std::vector<Tensor> want = run_every_way(reference, use, CpuLevel::scalar);
  std::vector<Tensor> first;
  for (const CpuLevel level : simd_levels()) {
    const std::vector<Tensor> got = run_every_way(kernel, use, level);
    if (first.empty()) first = got;
    for (size_t port = 0; port < want.size(); ++port) {
      EXPECT_TRUE(same_bits(first[port], got[port])) << name(level) << ", output " << port;
      if (!want[port].defined()) continue;
      EXPECT_TRUE(harness::close_to(want[port], got[port], 1e-5)) << name(level) << ", output " << port;
    }
  }
}

// A0.1
TEST(BatchNormKernels, AgreeInTrainingAndInference) {
  for (const Dims& dims : kDims) {
    SCOPED_TRACE(to_string(dims));
    for (const bool is_test : {false, true})
      expect_levels_near(reference_batch_norm, cpu_batch_norm_channels, norm_case(dims, is_test));
    const KernelCase forward = norm_case(dims, false);
    const auto results = run_kernel(reference_batch_norm, forward, CpuLevel::scalar);
    expect_levels_near(reference_batch_norm_grad, cpu_batch_norm_grad_channels,
                       grad_case(forward, results, normal_tensor(dims, 9)));
  }
}

TEST(BatchNormKernels, KeepAVarianceThatIsSmallBesideTheMean) {
  const KernelCase use = norm_case({8, 4, 9, 9}, false, 4096.0F);
  expect_levels_near(reference_batch_norm, cpu_batch_norm_channels, use);
  const Tensor inverse_std = run_kernel(reference_batch_norm, use, CpuLevel::scalar)[BatchNorm::out::batch_inverse_std];
  for (const float v : inverse_std.data<float>()) EXPECT_NEAR(v, 1.0F, 0.1F);
}

TEST(BatchNormKernels, UpdateStateInPlace) {
  KernelCase use = norm_case({4, 6, 5, 7}, false);
  const auto apart = run_kernel(reference_batch_norm, use, CpuLevel::scalar);
  use.in_place = {{BatchNorm::out::mean_out, In::mean}, {BatchNorm::out::variance_out, In::variance}};
  const auto together = run_kernel(reference_batch_norm, use, CpuLevel::scalar);
  for (size_t port = 0; port < apart.size(); ++port)
    EXPECT_TRUE(same_bits(apart[port], together[port])) << "output " << port;
  for (const CpuLevel level : simd_levels()) {
    const auto fast = run_every_way(cpu_batch_norm_channels, use, level);
    EXPECT_TRUE(harness::close_to(apart[BatchNorm::out::variance_out], fast[BatchNorm::out::variance_out], 1e-6));
    EXPECT_TRUE(harness::close_to(apart[0], fast[0], 1e-6));
  }
}

TEST(BatchNormReference, MovesTheRunningStatisticsByTheUnbiasedVariance) {
  KernelCase use = norm_case({2, 1, 2}, false);
  use.in = {f32_values({2, 1, 2}, {1, 2, 3, 6}), f32_values({1}, {2}), f32_values({1}, {10}), f32_values({1}, {1}),
            f32_values({1}, {4})};
  use.attributes["epsilon"] = 0.5;
  const auto out = run_kernel(reference_batch_norm, use, CpuLevel::scalar);
  // Mean 3, squared distances 4 + 1 + 0 + 9 = 14: biased variance 3.5 (with epsilon 4, standard deviation 2), unbiased
  // 14 / 3.
  EXPECT_TRUE(same_bits(f32_values({2, 1, 2}, {8, 9, 10, 13}), out[0]));
  EXPECT_FLOAT_EQ(out[BatchNorm::out::mean_out].data<float>()[0], 0.9F * 1 + 0.1F * 3);
  EXPECT_FLOAT_EQ(out[BatchNorm::out::variance_out].data<float>()[0], 0.9F * 4 + 0.1F * 14 / 3);
  EXPECT_EQ(out[BatchNorm::out::batch_mean].data<float>()[0], 3.0F);
  EXPECT_EQ(out[BatchNorm::out::batch_inverse_std].data<float>()[0], 0.5F);
}

TEST(BatchNormReference, AnEmptyBatchChangesNoState) {
  const KernelCase use = norm_case({0, 3, 4, 4}, false);
  for (const Kernel* kernel : {&reference_batch_norm, &cpu_batch_norm_channels}) {
    if (kernel == &cpu_batch_norm_channels && detected_cpu_level() == CpuLevel::scalar) continue;
    const CpuLevel level = kernel == &reference_batch_norm ? CpuLevel::scalar : CpuLevel::avx2;
    const auto out = run_kernel(*kernel, use, level);
    EXPECT_TRUE(same_bits(use.in[In::mean], out[BatchNorm::out::mean_out]));
    EXPECT_TRUE(same_bits(use.in[In::variance], out[BatchNorm::out::variance_out]));
  }
}

/// sum(batch_norm(x) * g) in f64, for channels of 3 x 2 x 2 elements.
double objective(const std::vector<double>& x, const std::vector<double>& scale, const std::vector<double>& bias,
                 std::span<const float> g) {
  double total = 0;
  for (size_t channel = 0; channel < 2; ++channel) {
    const auto index = [&](size_t i) { return (i / 4 * 2 + channel) * 4 + i % 4; };
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 12; ++i) mean += x[index(i)] / 12;
    for (size_t i = 0; i < 12; ++i) variance += (x[index(i)] - mean) * (x[index(i)] - mean) / 12;
    for (size_t i = 0; i < 12; ++i)
      total +=
          ((x[index(i)] - mean) / std::sqrt(variance + 1e-3) * scale[channel] + bias[channel]) * double{g[index(i)]};
  }
  return total;
}

TEST(BatchNormReference, GradientsAreThoseOfFiniteDifferences) {
  const Dims dims = {3, 2, 2, 2};
  const KernelCase forward = norm_case(dims, false);
  const Tensor out_grad = normal_tensor(dims, 9);
  const auto results = run_kernel(reference_batch_norm, forward, CpuLevel::scalar);
  const auto gradients = run_kernel(reference_batch_norm_grad, grad_case(forward, results, out_grad), CpuLevel::scalar);
  std::vector<std::vector<double>> operands;
  for (const int position : {In::x, In::scale, In::bias}) {
    const auto values = forward.in[position].data<float>();
    operands.emplace_back(values.begin(), values.end());
  }
  for (size_t operand = 0; operand < operands.size(); ++operand) {
    for (size_t i = 0; i < operands[operand].size(); ++i) {
      constexpr double kStep = 1e-5;
      auto up = operands, down = operands;
      up[operand][i] += kStep;
      down[operand][i] -= kStep;
      const auto g = std::as_const(out_grad).data<float>();
      const double numeric =
          (objective(up[0], up[1], up[2], g) - objective(down[0], down[1], down[2], g)) / (2 * kStep);
      EXPECT_NEAR(gradients[operand].data<float>()[i], numeric, 2e-6 * (1 + std::fabs(numeric)))
          << operand << ", " << i;
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
