// Helpers shared by the tests of float kernels: operands, bounds derived from the sums in a kernel, gradients by finite
// differences, and execution on a pool.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/kernels/ops.h"
#include "tests/kernels/kernel_harness.h"

namespace halfstep::kernels {

/// Normal values. f64 tensors hold float32 values, so that both types can be compared.
inline Tensor normal_tensor(Dims dims, uint64_t stream, DType dtype = DType::f32) {
  Tensor tensor(dtype, std::move(dims));
  Random random(3, stream);
  if (dtype == DType::f64) {
    for (double& v : tensor.data<double>()) v = random.normal();
  } else {
    for (float& v : tensor.data<float>()) v = random.normal();
  }
  return tensor;
}

inline Tensor f32_values(Dims dims, const std::vector<float>& values) {
  return Tensor::of<float>(DType::f32, std::move(dims), std::span(values));
}

inline Tensor mapped(const Tensor& tensor, float (*function)(float)) {
  Tensor result = tensor.clone();
  for (float& v : result.data<float>()) v = function(v);
  return result;
}

/// The case with every element replaced by its magnitude. The reference then computes the sums of magnitudes.
inline KernelCase magnitudes(const KernelCase& use) {
  KernelCase result = use;
  for (Tensor& tensor : result.in) {
    if (tensor.defined()) tensor = mapped(tensor, [](float v) { return std::fabs(v); });
  }
  return result;
}

/// |got - want| <= terms * 2^-24 * magnitude for every element: the largest effect of `terms` roundings to float32 on a
/// sum in any order. Two NaN are equal.
inline testing::AssertionResult within_roundings(const Tensor& want, const Tensor& got, const Tensor& magnitude,
                                                 double terms) {
  const auto w = want.data<float>(), g = got.data<float>(), m = magnitude.data<float>();
  for (size_t i = 0; i < w.size(); ++i) {
    const double bound = terms * 0x1p-24 * double{m[i]};
    const bool same = w[i] == g[i] || (std::isnan(w[i]) && std::isnan(g[i]));
    if (!same && !(std::fabs(double{w[i]} - double{g[i]}) <= bound))
      return testing::AssertionFailure() << "element " << i << " is " << g[i] << ", expected " << w[i] << " within "
                                         << bound;
  }
  return testing::AssertionSuccess();
}

/// Runs all phases on a pool, with pieces in any order.
inline std::vector<Tensor> run_on_pool(const Kernel& kernel, const KernelCase& use, CpuLevel level, int threads) {
  const harness::CaseProblem owner(use, level);
  const Plan plan = kernel.prepare(owner.problem());
  const harness::CaseCall operands(use);
  const harness::Buffer scratch(plan.scratch);
  ThreadPool pool(threads);
  std::vector<harness::Buffer> worker_scratch;
  for (int worker = 0; worker < threads; ++worker) worker_scratch.emplace_back(plan.worker_scratch);
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    std::atomic<int64_t> next{0};
    pool.run_on_all([&](int worker) {
      Call call = operands.call();
      call.state = plan.state.get();
      call.scratch = scratch.data();
      call.worker_scratch = worker_scratch[worker].data();
      for (int64_t piece = next++; piece < plan.phases[phase]; piece = next++)
        EXPECT_TRUE(kernel.run(call, static_cast<int>(phase), piece).ok());
    });
  }
  return operands.results();
}

/// A kernel that only serves the level of this process: expects the same bits for pieces in order, shuffled, and on 2
/// and 4 threads.
inline std::vector<Tensor> run_every_way(const Kernel& kernel, const KernelCase& use, CpuLevel level = cpu_level()) {
  const std::vector<Tensor> plain = run_kernel(kernel, use, level);
  const auto expect_same = [&](const std::vector<Tensor>& other, const char* how) {
    for (size_t port = 0; port < plain.size(); ++port)
      EXPECT_TRUE(same_bits(plain[port], other[port]))
          << use.op << "/" << kernel.name << ", output " << port << ", " << how;
  };
  expect_same(run_kernel(kernel, use, level, PieceOrder::shuffled), "pieces shuffled");
  expect_same(run_on_pool(kernel, use, level, 2), "2 threads");
  expect_same(run_on_pool(kernel, use, level, 4), "4 threads");
  return plain;
}

/// Compares the reference's f64 gradient `actual` of sum(forward(operand) * out_grad) with central differences, at
/// every element of the operand at `position`. For functions that are linear in it the comparison is exact except for
/// rounding.
inline void expect_gradient(const Kernel& forward, const KernelCase& use, size_t position, const Tensor& out_grad,
                            const Tensor& actual, double tolerance = 1e-7) {
  const auto objective = [&](double delta, size_t element) {
    KernelCase moved = use;
    moved.in[position] = use.in[position].clone();
    moved.in[position].data<double>()[element] += delta;
    const Tensor out = run_kernel(forward, moved, CpuLevel::scalar)[0];
    const auto o = out.data<double>(), g = out_grad.data<double>();
    return std::inner_product(o.begin(), o.end(), g.begin(), 0.0);
  };
  const auto gradient = actual.data<double>();
  ASSERT_EQ(actual.dims(), use.in[position].dims());
  constexpr double kStep = 0x1p-10;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double numeric = (objective(kStep, i) - objective(-kStep, i)) / (2 * kStep);
    ASSERT_NEAR(gradient[i], numeric, tolerance * (1.0 + std::fabs(numeric)))
        << use.op << ", operand " << position << ", element " << i;
  }
}

}  // namespace halfstep::kernels
