// Pooling: the fast kernels equal the reference bit for bit (the global average: within rounding). Also gradients,
// special values, and odd windows.
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Window {
  Dims x;
  std::vector<int64_t> kernel, stride, pad = {0, 0, 0, 0};

  Dims out() const {
    return {x[0], x[1], (x[2] + pad[0] + pad[2] - kernel[0]) / stride[0] + 1,
            (x[3] + pad[1] + pad[3] - kernel[1]) / stride[1] + 1};
  }
  Attributes attributes() const { return {{"kernel", kernel}, {"stride", stride}, {"pad", pad}}; }
  Attributes average(bool count_pad) const {
    Attributes a = attributes();
    a["count_include_pad"] = count_pad;
    return a;
  }
};

const std::vector<Window> kWindows = {
    {{2, 3, 9, 7}, {3, 2}, {2, 1}, {1, 0, 1, 1}},
    {{2, 3, 8, 8}, {2, 2}, {2, 2}},
    {{1, 2, 5, 5}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{3, 2, 11, 13}, {2, 1}, {3, 4}},
    {{2, 2, 1, 1}, {1, 1}, {1, 1}},
    {{1, 70, 16, 16}, {3, 3}, {2, 2}, {0, 1, 2, 0}},
    {{2, 1, 4, 40}, {4, 40}, {1, 1}},
    {{0, 3, 8, 8}, {2, 2}, {2, 2}},
    {{1, 1, 5, 6}, {3, 4}, {5, 1}, {2, 2, 2, 2}},
};

template <class T>
Tensor counting(DType dtype, const Dims& dims, uint64_t range) {
  Tensor tensor(dtype, dims);
  Random random(5, 1);
  for (T& v : tensor.data<T>()) v = static_cast<T>(random.below(range));
  return tensor;
}

/// Few different values, so that windows contain equal values. -0, infinities and NaN are among them.
Tensor special_tensor(const Dims& dims) {
  constexpr float kValues[] = {-0.0F, 0.0F, 1.0F, -1.0F, kInf, -kInf, kNaN, 0.0F, -0.0F, 2.0F, 2.0F};
  Tensor tensor(DType::f32, dims);
  Random random(5, 2);
  for (float& v : tensor.data<float>()) v = kValues[random.below(std::size(kValues))];
  return tensor;
}

std::vector<Tensor> inputs(const Dims& dims) {
  return {normal_tensor(dims, 1),
          special_tensor(dims),
          normal_tensor(dims, 1, DType::f64),
          counting<uint8_t>(DType::u8, dims, 4),
          counting<uint16_t>(DType::u16, dims, 65536),
          counting<int8_t>(DType::i8, dims, 256),
          counting<int32_t>(DType::i32, dims, 5)};
}

void expect_equal(const Kernel& reference, const Kernel& kernel, const KernelCase& use) {
  const auto want = run_every_way(reference, use, CpuLevel::scalar);
  EXPECT_TRUE(same_bits(want[0], run_every_way(kernel, use, CpuLevel::scalar)[0]))
      << use.op << " " << to_string(use.in[0].type());
}

KernelCase max_case(const Window& window, const Tensor& x) {
  return {"max_pool2d", window.attributes(), {x}, {Type{x.dtype(), window.out()}}};
}

KernelCase max_grad_case(const Window& window, const Tensor& x, DType dtype = DType::f32) {
  return {"max_pool2d_grad", window.attributes(), {x, normal_tensor(window.out(), 4, dtype)}, {Type{dtype, window.x}}};
}

KernelCase average_grad_case(const Window& window, bool count_pad) {
  Attributes attributes = window.average(count_pad);
  attributes["height"] = window.x[2];
  attributes["width"] = window.x[3];
  return {"avg_pool2d_grad", attributes, {normal_tensor(window.out(), 4)}, {Type{DType::f32, window.x}}};
}

// A0.1
TEST(MaxPool, RowsEqualTheReference) {
  for (const Window& window : kWindows) {
    for (const Tensor& x : inputs(window.x)) {
      expect_equal(reference_max_pool2d, cpu_max_pool2d_rows, max_case(window, x));
      expect_equal(reference_max_pool2d_grad, cpu_max_pool2d_grad_planes, max_grad_case(window, x));
    }
  }
}

TEST(MaxPool, PaddingNeverWinsAndNanDoes) {
  const Window window{{1, 1, 2, 4}, {2, 2}, {2, 2}, {1, 1, 1, 1}};
  const Tensor x = f32_values({1, 1, 2, 4}, {-3, -1, kNaN, -kInf, -2, -5, 7, -kInf});
  const Tensor out = run_kernel(reference_max_pool2d, max_case(window, x), CpuLevel::scalar)[0];
  EXPECT_TRUE(same_bits(f32_values({1, 1, 2, 3}, {-3, kNaN, -kInf, -2, 7, -kInf}), out));
}

TEST(MaxPool, TheFirstOfEqualsTakesTheGradient) {
  const Window window{{1, 1, 2, 3}, {2, 2}, {1, 1}};
  KernelCase use = max_grad_case(window, f32_values({1, 1, 2, 3}, {5, 1, 5, 5, 5, kNaN}));
  use.in[1] = f32_values({1, 1, 1, 2}, {10, 100});
  EXPECT_TRUE(same_bits(f32_values({1, 1, 2, 3}, {10, 0, 0, 0, 0, 100}),
                        run_kernel(reference_max_pool2d_grad, use, CpuLevel::scalar)[0]));
}

TEST(MaxPool, ZeroAndMinusZeroAreEqual) {
  const Window window{{1, 1, 1, 4}, {1, 2}, {1, 2}};
  const Tensor x = f32_values({1, 1, 1, 4}, {-0.0F, 0.0F, 0.0F, -0.0F});
  for (const Kernel* kernel : {&reference_max_pool2d, &cpu_max_pool2d_rows})
    EXPECT_TRUE(same_bits(f32_values({1, 1, 1, 2}, {-0.0F, 0.0F}),
                          run_kernel(*kernel, max_case(window, x), CpuLevel::scalar)[0]));
}

TEST(MaxPool, GradientIsThatOfFiniteDifferences) {
  for (const Window& window : kWindows) {
    const Tensor x = normal_tensor(window.x, 1, DType::f64);
    const KernelCase grad = max_grad_case(window, x, DType::f64);
    if (x.size() > 300) continue;
    expect_gradient(reference_max_pool2d, max_case(window, x), 0, grad.in[1],
                    run_kernel(reference_max_pool2d_grad, grad, CpuLevel::scalar)[0]);
  }
}

// A0.1
TEST(AveragePool, PlanesEqualTheReference) {
  for (const Window& window : kWindows) {
    for (const bool count_pad : {false, true}) {
      expect_equal(
          reference_avg_pool2d, cpu_avg_pool2d_planes,
          {"avg_pool2d", window.average(count_pad), {normal_tensor(window.x, 1)}, {Type{DType::f32, window.out()}}});
      expect_equal(reference_avg_pool2d_grad, cpu_avg_pool2d_grad_planes, average_grad_case(window, count_pad));
    }
  }
}

TEST(AveragePool, CountsThePaddingOrNot) {
  const Window window{{1, 1, 2, 2}, {2, 2}, {1, 1}, {1, 0, 0, 1}};
  KernelCase use{
      "avg_pool2d", window.average(true), {f32_values({1, 1, 2, 2}, {4, 8, 16, 32})}, {Type{DType::f32, {1, 1, 2, 2}}}};
  EXPECT_TRUE(
      same_bits(f32_values({1, 1, 2, 2}, {3, 2, 15, 10}), run_kernel(reference_avg_pool2d, use, CpuLevel::scalar)[0]));
  use.attributes = window.average(false);
  EXPECT_TRUE(
      same_bits(f32_values({1, 1, 2, 2}, {6, 8, 15, 20}), run_kernel(reference_avg_pool2d, use, CpuLevel::scalar)[0]));
}

/// An average is linear: its gradient is right if <average(x), g> = <x, gradient(g)> for every unit vector x.
TEST(AveragePool, GradientIsTheTransposeOfTheAverage) {
  for (const Window& window : kWindows) {
    for (const bool count_pad : {false, true}) {
      const KernelCase grad = average_grad_case(window, count_pad);
      const Tensor gradient = run_kernel(reference_avg_pool2d_grad, grad, CpuLevel::scalar)[0];
      const auto g = grad.in[0].data<float>();
      if (gradient.size() > 300) continue;
      for (int64_t i = 0; i < gradient.size(); ++i) {
        Tensor unit(DType::f32, window.x);
        unit.data<float>()[i] = 1.0F;
        const Tensor out = run_kernel(
            reference_avg_pool2d, {"avg_pool2d", window.average(count_pad), {unit}, {Type{DType::f32, window.out()}}},
            CpuLevel::scalar)[0];
        const auto o = std::as_const(out).data<float>();
        EXPECT_NEAR(std::as_const(gradient).data<float>()[i], std::inner_product(o.begin(), o.end(), g.begin(), 0.0),
                    1e-6);
      }
    }
  }
}

TEST(GlobalAverage, IsWithinRoundingOfTheReference) {
  for (const Dims& dims : std::vector<Dims>{{2, 3, 9, 7}, {1, 1, 1, 1}, {4, 65, 8, 8}, {0, 3, 4, 4}, {1, 2, 130, 70}}) {
    const KernelCase use{"global_avg_pool", {}, {normal_tensor(dims, 1)}, {Type{DType::f32, {dims[0], dims[1], 1, 1}}}};
    const Tensor want = run_every_way(reference_global_avg_pool, use, CpuLevel::scalar)[0];
    const Tensor magnitude = run_kernel(reference_global_avg_pool, magnitudes(use), CpuLevel::scalar)[0];
    // Both sums are in double, and each result rounds once.
    EXPECT_TRUE(
        within_roundings(want, run_every_way(cpu_global_avg_pool_planes, use, CpuLevel::scalar)[0], magnitude, 2));
  }
}

TEST(Pool, HalfPrecisionIsForTheReference) {
  const Window window{{1, 1, 2, 2}, {2, 2}, {1, 1}};
  const KernelCase half = max_case(window, Tensor(DType::bf16, window.x));
  EXPECT_EQ(refusal_of(cpu_max_pool2d_rows, half, CpuLevel::scalar),
            errors::kernel_takes_other_types("an operand", "bf16", "f32 or f64"));
  EXPECT_TRUE(verdict_of(reference_max_pool2d, half, CpuLevel::scalar));
  EXPECT_EQ(refusal_of(reference_max_pool2d, max_case(window, Tensor(DType::f8_e5m2, window.x)), CpuLevel::scalar),
            errors::kernel_takes_other_types("x", "f8_e5m2", "a type that is compared"));
}

}  // namespace
}  // namespace halfstep::kernels
