// Float operators inside a program on codes: their bits depend on their operands only.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

/// Sums, exponentials, means and products of every kind that has a fast kernel with a fixed order of operations.
std::string network(int64_t batch) {
  return fmt::format(R"(graph orders(x: f32[{}, 4, 7, 7]) {{
  const @s: f32[1]
  const @z: i32[1]
  param @w: f32[8, 4, 3, 3]
  param @v: f32[37, 8]
  param @b: f32[37]
  param @c: f32[8]
  param @variance: f32[8]
  q = quantize(x, scale=@s, zero_point=@z)
  r = dequantize(q, scale=@s, zero_point=@z)
  conv = conv2d(r, w=@w) {{pad: [1, 1, 1, 1]}}
  norm = batch_norm(conv, scale=@c, bias=@c, mean=@c, variance=@variance)
  gate = sigmoid(norm)
  soft = softplus(norm)
  power = exp(gate)
  pool = avg_pool2d(norm) {{kernel: [3, 3], stride: [2, 2]}}
  mean = global_avg_pool(norm)
  rows = flatten(mean)
  line = linear(rows, w=@v, b=@b)
  positive = relu(line)
  sums = reduce_sum(norm) {{axes: [2, 3]}}
  tokens = reshape(norm) {{dims: [{}, 8, 49]}}
  scores = matmul(tokens, b=tokens) {{transpose_b: true}}
  shares = softmax(scores)
  mixed = matmul(shares, b=tokens)
  columns = transpose(sums) {{perm: [1, 0]}}
  column_sums = reduce_sum(columns) {{axes: [0]}}
  return gate, soft, power, pool, mean, positive, sums, scores, shares, mixed, column_sums
}}
)",
                     batch, batch);
}

using Outputs = std::map<std::string, Tensor>;

Model prepared(int64_t batch) {
  Model model = model_of(network(batch));
  model.tensors["s"].data<float>()[0] = 0.015625F;
  model.tensors["z"].data<int32_t>()[0] = 128;
  for (float& variance : model.tensors["variance"].data<float>()) variance = std::fabs(variance) + 0.5F;
  return model;
}

Outputs run(const Tensor& x, CpuLevel level, int threads) {
  CompileOptions options;
  options.level = level;
  ThreadPool pool(threads);
  return compile(prepared(x.dims()[0]), options).run({{"x", x}}, pool);
}

void expect_same(const Outputs& found, const Outputs& expected, const std::string& where) {
  ASSERT_EQ(found.size(), 11U);
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(found.at(name).same_bits(tensor)) << name << ", " << where;
}

// A11.1
TEST(OneOrder, IsThatOfEveryLevelAndThreadCount) {
  const Tensor x = random_tensor({DType::f32, {3, 4, 7, 7}}, 5);
  const Outputs expected = run(x, CpuLevel::scalar, 1);
  for (const CpuLevel level : available_cpu_levels()) {
    for (const int threads : {1, 3}) expect_same(run(x, level, threads), expected, std::string(name(level)));
  }
}

// A11.1
TEST(OneOrder, IsThatOfEveryBatch) {
  const Tensor x = random_tensor({DType::f32, {3, 4, 7, 7}}, 5);
  const Outputs all = run(x, cpu_level(), 2);
  for (int64_t sample = 0; sample < 3; ++sample) {
    const Outputs one = run(x.rows(sample, sample + 1), cpu_level(), 2);
    Outputs expected;
    for (const auto& [name, tensor] : all) expected[name] = tensor.rows(sample, sample + 1);
    expect_same(one, expected, fmt::format("sample {}", sample));
  }
}

TEST(OneOrder, IsAskedForByCodesAloneOrByName) {
  const auto kernels_of = [](const std::string& text, bool asked) {
    CompileOptions options;
    options.one_order = asked;
    std::string kernels;
    const runtime::Program program = compile(model_of(text), options);
    for (const runtime::Instruction& instruction : program.instructions())
      kernels += std::string(instruction.kernel->name) + " ";
    return kernels;
  };
  if (cpu_level() == CpuLevel::scalar) GTEST_SKIP() << "the scalar level has references alone";
  constexpr const char* kFloat = "graph f(a: f32[8, 9], b: f32[9, 7]) {\n  y = matmul(a, b=b)\n  return y\n}\n";
  EXPECT_EQ(kernels_of(kFloat, false), "onednn ");
  EXPECT_EQ(kernels_of(kFloat, true), "doubles ");
}

}  // namespace
}  // namespace halfstep
