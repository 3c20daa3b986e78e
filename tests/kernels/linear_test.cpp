// linear, linear_activation and matmul: oneDNN against the reference, the reference against a plain loop.
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

struct Extents {
  int64_t m, n, k;
};

const std::vector<Extents> kExtents = {{37, 10, 64},   {1, 3, 5},      {1, 1000, 512}, {128, 64, 64},
                                       {16, 512, 512}, {300, 100, 33}, {1, 1, 1},      {65, 128, 700}};

KernelCase linear_case(Extents e, bool bias) {
  return {"linear",
          {},
          {normal_tensor({e.m, e.k}, 1), normal_tensor({e.n, e.k}, 2), bias ? normal_tensor({e.n}, 3) : Tensor()},
          {Type{DType::f32, {e.m, e.n}}}};
}

KernelCase matmul_case(Dims batch, Extents e, bool transpose_a, bool transpose_b, DType dtype = DType::f32) {
  const auto matrix = [&](int64_t rows, int64_t columns) {
    Dims dims = batch;
    dims.insert(dims.end(), {rows, columns});
    return dims;
  };
  return {"matmul",
          {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
          {normal_tensor(transpose_a ? matrix(e.k, e.m) : matrix(e.m, e.k), 1, dtype),
           normal_tensor(transpose_b ? matrix(e.n, e.k) : matrix(e.k, e.n), 2, dtype)},
          {Type{dtype, matrix(e.m, e.n)}}};
}

Tensor expect_close(const Kernel& reference, const Kernel& kernel, const KernelCase& use, int64_t k) {
  const Tensor want = run_kernel(reference, use, CpuLevel::scalar)[0];
  const Tensor magnitude = run_kernel(reference, magnitudes(use), CpuLevel::scalar)[0];
  const Tensor got = run_every_way(kernel, use)[0];
  EXPECT_TRUE(within_roundings(want, got, magnitude, static_cast<double>(k) + 3))
      << to_string(want.type()) << ", k " << k;
  return got;
}

class LinearOnednn : public testing::Test {
 protected:
  void SetUp() override {
    if (cpu_level() == CpuLevel::scalar) GTEST_SKIP() << "the level is scalar";
  }
};

// A0.1
TEST_F(LinearOnednn, LinearIsNearTheReference) {
  for (const Extents e : kExtents) {
    for (const bool bias : {false, true}) {
      KernelCase use = linear_case(e, bias);
      expect_close(reference_linear, cpu_linear_onednn, use, e.k);
      use.constants = {Linear::in::w};
      expect_close(reference_linear, cpu_linear_onednn, use, e.k);
      expect_close(reference_linear, cpu_linear_tiles, use, e.k);
    }
  }
}

TEST_F(LinearOnednn, ActivationIsAppliedToTheSums) {
  const std::pair<const Kernel*, const Kernel*> kernels[] = {{&cpu_linear_onednn, &cpu_linear_activation_onednn},
                                                             {&cpu_linear_tiles, &cpu_linear_activation_tiles}};
  for (const auto& [linear, with_activation] : kernels) {
    for (const Extents e : kExtents) {
      KernelCase use = linear_case(e, true);
      use.constants = {Linear::in::w};
      const Tensor plain = run_kernel(*linear, use, cpu_level())[0];
      use.attributes = {{"activation", std::string("leaky_relu")}, {"alpha", 0.125}};
      EXPECT_TRUE(same_bits(mapped(plain, [](float v) { return v < 0 ? 0.125F * v : v; }),
                            run_every_way(*with_activation, use)[0]));
      EXPECT_TRUE(harness::close_to(run_kernel(reference_linear_activation, use, CpuLevel::scalar)[0],
                                    run_kernel(*with_activation, use, cpu_level())[0], 1e-5));
    }
  }
}

TEST_F(LinearOnednn, MatmulIsNearTheReference) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const Extents e : kExtents) {
        KernelCase use = matmul_case({}, e, transpose_a, transpose_b);
        expect_close(reference_matmul, cpu_matmul_onednn, use, e.k);
        use.constants = {Matmul::in::b};
        expect_close(reference_matmul, cpu_matmul_onednn, use, e.k);
      }
      expect_close(reference_matmul, cpu_matmul_onednn, matmul_case({3, 2}, {35, 9, 7}, transpose_a, transpose_b), 7);
    }
  }
}

TEST_F(LinearOnednn, RefusesWhatIsEmpty) {
  EXPECT_EQ(refusal_of(cpu_linear_onednn, linear_case({0, 3, 5}, true), cpu_level()),
            errors::kernel_takes_no_empty_operand("an operand"));
}

TEST_F(LinearOnednn, TilesAreForConstantWeights) {
  EXPECT_EQ(refusal_of(cpu_linear_tiles, linear_case({2, 3, 5}, true), cpu_level()),
            errors::kernel_is_for_other_options("computed weights", "constant weights"));
}

TEST(LinearReference, IsTheProductOfEachTransposition) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const KernelCase use = matmul_case({2}, {3, 4, 5}, transpose_a, transpose_b, DType::f64);
      const Tensor out = run_every_way(reference_matmul, use, CpuLevel::scalar)[0];
      const auto a = use.in[0].data<double>(), b = use.in[1].data<double>(), c = out.data<double>();
      for (int64_t batch = 0; batch < 2; ++batch) {
        for (int64_t row = 0; row < 3; ++row) {
          for (int64_t column = 0; column < 4; ++column) {
            double sum = 0;
            for (int64_t i = 0; i < 5; ++i)
              sum += a[batch * 15 + (transpose_a ? i * 3 + row : row * 5 + i)] *
                     b[batch * 20 + (transpose_b ? column * 5 + i : i * 4 + column)];
            EXPECT_DOUBLE_EQ(c[batch * 12 + row * 4 + column], sum);
          }
        }
      }
    }
  }
}

TEST(LinearReference, AddsTheBiasToEveryRow) {
  KernelCase use = linear_case({2, 2, 2}, true);
  use.in = {f32_values({2, 2}, {1, 2, 3, 4}), f32_values({2, 2}, {1, 10, 100, 1000}), f32_values({2}, {0.5F, -0.5F})};
  EXPECT_TRUE(same_bits(f32_values({2, 2}, {21.5F, 2099.5F, 43.5F, 4299.5F}),
                        run_kernel(reference_linear, use, CpuLevel::scalar)[0]));
}

TEST(LinearReference, AnEmptySumIsTheBias) {
  const KernelCase use = linear_case({2, 3, 0}, true);
  const Tensor out = run_kernel(reference_linear, use, CpuLevel::scalar)[0];
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out.data<float>()[i], use.in[2].data<float>()[i % 3]);
}

}  // namespace
}  // namespace halfstep::kernels
