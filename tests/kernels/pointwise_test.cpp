// Kernels that opgen generates from `compute`: broadcasting, levels, special values, and comparison with float64.
#include <cmath>
#include <limits>

#include "halfstep/core/arith/scalar_functions.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/elementwise/runs.h"
#include "halfstep/engine/kernels/ops.h"
#include "tests/kernels/kernel_harness.h"

namespace halfstep::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Uniform in [-8, 8], with every special value inserted.
Tensor random_tensor(Dims dims, uint64_t stream) {
  constexpr float kSpecial[] = {kNan, kInf, -kInf, -0.0f, 0.0f, 6.0f, 1e-40f, -100.0f, 100.0f};
  Tensor tensor(DType::f32, std::move(dims));
  Random random(3, stream);
  for (float& value : tensor.data<float>())
    value = random.below(11) == 0 ? kSpecial[random.below(std::size(kSpecial))] : random.uniform() * 16 - 8;
  return tensor;
}

KernelCase unary(const std::string& op, Tensor x, Attributes attributes = {}) {
  const Type type = x.type();
  return {op, std::move(attributes), {std::move(x)}, {type}};
}
KernelCase binary(const std::string& op, const Dims& a, const Dims& b, const Dims& out) {
  return {op, {}, {random_tensor(a, 1), random_tensor(b, 2)}, {Type{DType::f32, out}}};
}

struct Shapes {
  Dims a, b, out;
};
const std::vector<Shapes> kShapes = {{{2, 3, 17, 5}, {2, 3, 17, 5}, {2, 3, 17, 5}},
                                     {{2, 8, 5, 5}, {2, 8, 1, 1}, {2, 8, 5, 5}},
                                     {{4, 1, 7}, {3, 1}, {4, 3, 7}},
                                     {{1}, {33}, {33}},
                                     {{3, 1, 40, 500}, {3, 2, 1, 500}, {3, 2, 40, 500}},
                                     {{}, {}, {}},
                                     {{0, 4}, {4}, {0, 4}},
                                     {{20000}, {1}, {20000}}};

TEST(Pointwise, ReferenceBroadcasts) {
  for (const Shapes& shapes : kShapes) {
    const KernelCase use = binary("add", shapes.a, shapes.b, shapes.out);
    const Tensor got = run_kernel(reference_add, use, CpuLevel::scalar)[0];
    Tensor want(DType::f32, shapes.out);
    for (int64_t i = 0; i < want.size(); ++i)
      want.data<float>()[i] = use.in[0].data<float>()[broadcast_index(shapes.a, shapes.out, i)] +
                              use.in[1].data<float>()[broadcast_index(shapes.b, shapes.out, i)];
    EXPECT_TRUE(same_bits(want, got)) << to_string(shapes.a) << " + " << to_string(shapes.b);
  }
}

// A0.1
TEST(Pointwise, SimdEqualsReferenceBitForBit) {
  for (const Shapes& shapes : kShapes) {
    expect_matches_reference(reference_add, cpu_add_simd, binary("add", shapes.a, shapes.b, shapes.out));
    expect_matches_reference(reference_mul, cpu_mul_simd, binary("mul", shapes.a, shapes.b, shapes.out));
  }
  for (const int64_t size : {0, 1, 7, 8, 15, 16, 17, 33, 16384, 40000}) {
    const Tensor x = random_tensor({size}, 1);
    expect_matches_reference(reference_relu, cpu_relu_simd, unary("relu", x));
    expect_matches_reference(reference_relu6, cpu_relu6_simd, unary("relu6", x));
    expect_matches_reference(reference_leaky_relu, cpu_leaky_relu_simd, unary("leaky_relu", x, {{"alpha", 0.01}}));
    const Type type = x.type();
    expect_matches_reference(reference_relu6_grad_x, cpu_relu6_grad_x_simd,
                             {"relu6_grad_x", {}, {x, random_tensor({size}, 2)}, {type}});
  }
}

// A0.1
TEST(Pointwise, ExponentialsAreCloseAndKeepTheirLimits) {
  expect_matches_reference(reference_sigmoid, cpu_sigmoid_simd, unary("sigmoid", random_tensor({1001}, 4)),
                           CpuLevel::avx2, 1e-6);
  expect_matches_reference(reference_silu, cpu_silu_simd, unary("silu", random_tensor({1001}, 5)), CpuLevel::avx2,
                           1e-6);
  const std::vector<float> x = {kInf, -kInf, kNan, 200.0f, -200.0f, 0.0f};
  const std::vector<float> want = {1.0f, 0.0f, kNan, 1.0f, 0.0f, 0.5f};
  const KernelCase use = unary("sigmoid", Tensor::of<float>(DType::f32, {6}, x));
  expect_matches_reference(reference_sigmoid, cpu_sigmoid_simd, use);
  EXPECT_TRUE(
      same_bits(Tensor::of<float>(DType::f32, {6}, want), run_kernel(reference_sigmoid, use, CpuLevel::scalar)[0]));
}

// A11.8
TEST(Pointwise, NanStaysInRelu) {
  const KernelCase use = unary("relu", Tensor::of<float>(DType::f32, {3}, std::vector<float>{kNan, -1.0f, -0.0f}));
  const Tensor got = run_kernel(reference_relu, use, CpuLevel::scalar)[0];
  EXPECT_TRUE(std::isnan(got.data<float>()[0]));
  EXPECT_EQ(got.data<float>()[1], 0.0f);
  EXPECT_TRUE(std::signbit(got.data<float>()[2]));
}

TEST(Pointwise, Refusals) {
  const KernelCase floats = unary("relu", Tensor(DType::f32, {3}));
  const KernelCase doubles = unary("relu", Tensor(DType::f64, {3}));
  const KernelCase halves = unary("relu", Tensor(DType::f16, {3}));
  EXPECT_EQ(refusal_of(cpu_relu_simd, floats, CpuLevel::scalar),
            errors::kernel_is_for_other_levels("scalar", "avx2 or higher"));
  EXPECT_EQ(refusal_of(cpu_relu_simd, doubles, CpuLevel::avx2),
            errors::kernel_takes_other_types("the result", "f64", "f32"));
  EXPECT_EQ(refusal_of(cpu_relu_simd, halves, CpuLevel::avx2),
            errors::kernel_takes_other_types("the result", "f16", "f32"));
  const KernelCase codes = unary("relu", Tensor(DType::u8, {3}));
  EXPECT_EQ(refusal_of(reference_relu, codes, CpuLevel::avx2),
            errors::kernel_takes_other_types("the result", "u8", "a type that the operator computes in"));
  EXPECT_TRUE(verdict_of(reference_relu, halves, CpuLevel::scalar));
  EXPECT_TRUE(verdict_of(reference_relu, doubles, CpuLevel::scalar));
}

TEST(Pointwise, FunctionsAndTheirSlopes) {
  const Attributes attributes = {{"alpha", 0.125}};
  for (const char* op : {"relu", "relu6", "leaky_relu", "sigmoid", "silu"}) {
    const arith::PointwiseFunction* function = arith::find_function(op);
    ASSERT_NE(function, nullptr) << op;
    for (const double x : {-3.0, -0.5, 0.25, 2.0, 7.0}) {
      const double step = 1e-6;
      const double difference =
          (function->value(x + step, attributes) - function->value(x - step, attributes)) / (2 * step);
      EXPECT_NEAR(function->slope(x, attributes), difference, 1e-8) << op << " at " << x;
    }
  }
  EXPECT_EQ(arith::find_function("leaky_relu")->value(-4.0, attributes), -0.5);
  EXPECT_EQ(arith::find_function("add"), nullptr);
  EXPECT_EQ(arith::find_function("nothing"), nullptr);
}

TEST(Runs, AreAsLongAsOperandsKeepTheirPace) {
  const Type whole{DType::f32, {2, 8, 5, 5}}, channel{DType::f32, {2, 8, 1, 1}}, one{DType::f32, {1}};
  const std::vector<const Type*> same = {&whole, &whole};
  const elementwise::Runs dense(same, whole.dims);
  EXPECT_EQ(dense.length(), 400);
  const std::vector<const Type*> mixed = {&whole, &channel, &one};
  const elementwise::Runs runs(mixed, whole.dims);
  EXPECT_EQ(runs.length(), 25);
  EXPECT_EQ(runs.step(0), 1);
  EXPECT_EQ(runs.step(1), 0);
  EXPECT_EQ(runs.step(2), 0);
  EXPECT_EQ(runs.offset(0, 3), 75);
  EXPECT_EQ(runs.offset(1, 3), 3);
  EXPECT_EQ(runs.offset(2, 3), 0);
}

}  // namespace
}  // namespace halfstep::kernels
