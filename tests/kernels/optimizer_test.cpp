// sgd_momentum, adam and the norm that clips their gradients: every level equals the reference bit for bit, apart or in
// place.
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

/// The parameter has both signs, as no scale should have. `positive` must correct them in the same way everywhere.
KernelCase sgd_case(const Dims& dims, bool positive = false) {
  const Type type{DType::f32, dims};
  return {"sgd_momentum",
          {{"momentum", 0.9}, {"weight_decay", 0.001}, {"positive", positive}},
          {normal_tensor(dims, 1), normal_tensor(dims, 2), normal_tensor(dims, 3), f32_values({1}, {0.05F}),
           positive ? f32_values({1}, {0.375F}) : Tensor()},
          {type, type}};
}

KernelCase adam_case(const Dims& dims, bool positive = false) {
  const Type type{DType::f32, dims}, one{DType::f32, {1}};
  return {"adam",
          {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_decay", 0.01}, {"positive", positive}},
          {normal_tensor(dims, 1), normal_tensor(dims, 2), normal_tensor(dims, 3),
           mapped(normal_tensor(dims, 4), [](float v) { return v * v; }), f32_values({1}, {0.81F}),
           f32_values({1}, {0.998F}), f32_values({1}, {0.01F}), positive ? f32_values({1}, {0.375F}) : Tensor()},
          {type, type, type, one, one}};
}

void expect_same_everywhere(const Kernel& reference, const Kernel& simd, KernelCase use,
                            std::vector<std::pair<int, int>> in_place) {
  const auto want = run_kernel(reference, use, CpuLevel::scalar);
  for (const bool together : {false, true}) {
    if (together) use.in_place = in_place;
    const auto again = run_kernel(reference, use, CpuLevel::scalar);
    for (size_t port = 0; port < want.size(); ++port)
      EXPECT_TRUE(same_bits(want[port], again[port])) << "output " << port;
    for (const CpuLevel level : available_cpu_levels()) {
      if (level == CpuLevel::scalar) continue;
      const auto got = run_every_way(simd, use, level);
      for (size_t port = 0; port < want.size(); ++port)
        EXPECT_TRUE(same_bits(want[port], got[port]))
            << name(level) << ", output " << port << ", in place " << together;
    }
  }
}

const std::vector<Dims> kDims = {{1000}, {3, 5}, {1}, {0}, {200001}};

// A0.1
TEST(Optimizers, SgdIsTheSameOnEveryLevelAndInPlace) {
  for (const Dims& dims : kDims) {
    for (const bool positive : {false, true})
      expect_same_everywhere(reference_sgd_momentum, cpu_sgd_momentum_simd, sgd_case(dims, positive),
                             {{SgdMomentum::out::param_out, SgdMomentum::in::param},
                              {SgdMomentum::out::velocity_out, SgdMomentum::in::velocity}});
  }
}

TEST(Optimizers, AdamIsTheSameOnEveryLevelAndInPlace) {
  for (const Dims& dims : kDims) {
    for (const bool positive : {false, true})
      expect_same_everywhere(reference_adam, cpu_adam_simd, adam_case(dims, positive),
                             {{Adam::out::param_out, Adam::in::param},
                              {Adam::out::moment1_out, Adam::in::moment1},
                              {Adam::out::moment2_out, Adam::in::moment2},
                              {Adam::out::beta1_power_out, Adam::in::beta1_power},
                              {Adam::out::beta2_power_out, Adam::in::beta2_power}});
  }
}

TEST(Optimizers, SgdFollowsItsRule) {
  KernelCase use = sgd_case({1});
  use.attributes = {{"momentum", 0.5}, {"weight_decay", 0.25}, {"positive", false}};
  use.in = {f32_values({1}, {8}), f32_values({1}, {3}), f32_values({1}, {2}), f32_values({1}, {0.5F}), Tensor()};
  const auto out = run_kernel(reference_sgd_momentum, use, CpuLevel::scalar);
  EXPECT_EQ(out[SgdMomentum::out::velocity_out].data<float>()[0], 6.0F);
  EXPECT_EQ(out[SgdMomentum::out::param_out].data<float>()[0], 5.0F);
  use.in[SgdMomentum::in::clip] = f32_values({1}, {0.25F});
  EXPECT_EQ(run_kernel(reference_sgd_momentum, use, CpuLevel::scalar)[0].data<float>()[0], 8.0F - 0.5F * 3.75F);
}

/// Values of scales after a step that would have moved them to `wanted`.
// A2.10
TEST(Optimizers, PositiveParametersAtMostHalveAndDouble) {
  const std::vector<float> from = {1, 1, 1, 1, 0x1p-22F, -1};
  const std::vector<float> wanted = {0.75F, -3, 5, 0, -1, 4};
  const std::vector<float> found = {0.75F, 0.5F, 2, 0.5F, 0x1p-23F, 0x1p-23F};
  KernelCase use = sgd_case({6}, true);
  std::vector<float> grad;
  for (size_t i = 0; i < from.size(); ++i) grad.push_back(from[i] - wanted[i]);
  use.attributes = {{"momentum", 0.0}, {"weight_decay", 0.0}, {"positive", true}};
  use.in = {f32_values({6}, from), f32_values({6}, grad), f32_values({6}, std::vector<float>(6)), f32_values({1}, {1}),
            Tensor()};
  EXPECT_TRUE(same_bits(run_kernel(reference_sgd_momentum, use, CpuLevel::scalar)[0], f32_values({6}, found)));
}

// A2.12
TEST(Optimizers, NormIsOfAllElements) {
  const Type one{DType::f32, {1}};
  const KernelCase use{"vector_norm", {{"bound", 2.0}}, {f32_values({2}, {1, 2}), f32_values({1}, {-2})}, {one, one}};
  const auto out = run_kernel(reference_vector_norm, use, CpuLevel::scalar);
  EXPECT_EQ(out[VectorNorm::out::norm].data<float>()[0], 3.0F);
  EXPECT_EQ(out[VectorNorm::out::clip].data<float>()[0], 2.0F / 3.0F);
  KernelCase large{"vector_norm", {{"bound", 1e9}}, {normal_tensor({200001}, 1), normal_tensor({0}, 1)}, {one, one}};
  double sum = 0;
  for (const float x : large.in[0].data<float>()) sum += double{x} * double{x};
  const auto whole = run_every_way(reference_vector_norm, large, CpuLevel::scalar);
  EXPECT_FLOAT_EQ(whole[VectorNorm::out::norm].data<float>()[0], static_cast<float>(std::sqrt(sum)));
  EXPECT_EQ(whole[VectorNorm::out::clip].data<float>()[0], 1.0F);
}

TEST(Optimizers, AdamFollowsItsRule) {
  const KernelCase use = adam_case({100});
  const auto out = run_kernel(reference_adam, use, CpuLevel::scalar);
  const auto value = [&](int position, size_t i) { return double{use.in[position].data<float>()[i]}; };
  const double power1 = 0.9 * double{0.81F}, power2 = 0.999 * double{0.998F};
  EXPECT_FLOAT_EQ(out[Adam::out::beta1_power_out].data<float>()[0], static_cast<float>(power1));
  EXPECT_FLOAT_EQ(out[Adam::out::beta2_power_out].data<float>()[0], static_cast<float>(power2));
  for (size_t i = 0; i < 100; ++i) {
    const double grad = value(Adam::in::grad, i), param = value(Adam::in::param, i);
    const double first = 0.9 * value(Adam::in::moment1, i) + 0.1 * grad;
    const double second = 0.999 * value(Adam::in::moment2, i) + 0.001 * grad * grad;
    const double step = first / (1 - power1) / (std::sqrt(second / (1 - power2)) + 1e-8) + 0.01 * param;
    EXPECT_NEAR(out[Adam::out::moment1_out].data<float>()[i], first, 1e-6);
    EXPECT_NEAR(out[Adam::out::moment2_out].data<float>()[i], second, 1e-6 * (1 + second));
    // 1 - beta2^t is about 0.003 here. float32 has it with a relative error of about 2e-5, and the step with half of
    // that.
    EXPECT_NEAR(out[Adam::out::param_out].data<float>()[i], param - 0.01 * step, 1e-6 + 2e-7 * std::fabs(step));
  }
}

}  // namespace
}  // namespace halfstep::kernels
