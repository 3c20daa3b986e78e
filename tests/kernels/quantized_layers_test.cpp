// quantized_conv2d and quantized_linear: every candidate against plain nested loops, and the prepared network's
// operators against the integer ones.
#include "tests/kernels/integer_candidates.h"

namespace halfstep::kernels {
namespace {

std::vector<LayerShape> shapes() {
  return {
      {.n = 2, .c = 8, .h = 9, .w = 7, .o = 16, .kh = 3, .kw = 3, .groups = 2, .pad = {1, 0, 2, 1}},
      {.n = 3, .c = 32, .h = 8, .w = 8, .o = 32, .kh = 3, .kw = 3, .groups = 32, .pad = {1, 1, 1, 1}},
      {.n = 2,
       .c = 64,
       .h = 5,
       .w = 5,
       .o = 32,
       .kh = 3,
       .kw = 3,
       .stride = {2, 1},
       .dilation = {1, 2},
       .pad = {1, 2, 1, 2}},
      {.n = 1, .c = 120, .h = 9, .w = 10, .o = 96, .kh = 3, .kw = 3, .pad = {1, 1, 1, 1}},
      {.n = 9, .c = 64, .h = 6, .w = 6, .o = 70, .kh = 3, .kw = 3, .pad = {1, 1, 1, 1}},
      {.n = 5, .c = 8, .h = 5, .w = 5, .o = 8},
      {.n = 2, .c = 5, .h = 9, .w = 9, .o = 7, .kh = 3, .kw = 3, .stride = {2, 2}, .pad = {0, 0, 1, 1}},
      {.n = 40, .c = 1, .h = 8, .w = 8, .o = 32, .kh = 3, .kw = 3, .pad = {1, 1, 1, 1}},
      {.n = 1, .c = 3, .h = 40, .w = 40, .o = 16, .kh = 7, .kw = 7, .stride = {2, 2}, .pad = {3, 3, 3, 3}},
      {.n = 1, .c = 1, .h = 1, .w = 1, .o = 1},
      {.n = 1, .c = 6, .h = 90, .w = 90, .o = 18, .kh = 5, .kw = 5, .groups = 3, .pad = {2, 2, 2, 2}},
      {.linear = true, .n = 37, .c = 64, .o = 10},
      {.linear = true, .n = 1, .c = 129, .o = 66},
      {.linear = true, .n = 900, .c = 100, .o = 100},
      {.linear = true, .n = 2, .c = 1700, .o = 5},
  };
}

const Kernel& reference_of(const KernelCase& use) {
  if (use.op == "quantized_linear") return reference_quantized_linear;
  if (use.op == "quantized_conv2d") return reference_quantized_conv2d;
  return use.op == "integer_linear" ? reference_integer_linear : reference_integer_conv2d;
}

std::vector<const Kernel*> candidates_of(const KernelCase& use) {
  if (use.op == "quantized_linear")
    return {&cpu_quantized_linear_tiles, &cpu_quantized_linear_onednn_int8, &cpu_quantized_linear_onednn_f32};
  if (use.op == "quantized_conv2d") return {&cpu_quantized_conv2d_onednn_int8, &cpu_quantized_conv2d_onednn_f32};
  return {&cpu_integer_linear_amx, &cpu_integer_linear_tiles};
}

/// Runs every candidate at every level that it accepts. Returns the names of those that ran.
std::string expect_candidates_agree(const KernelCase& use, const std::vector<Tensor>& want) {
  std::string ran;
  for (const Kernel* kernel : candidates_of(use)) {
    for (const CpuLevel level : available_cpu_levels()) {
      if (!verdict_of(*kernel, use, level)) continue;
      ran += std::string(" ") + kernel->name;
      const std::vector<Tensor> got = run_kernel(*kernel, use, level, PieceOrder::shuffled);
      for (size_t port = 0; port < got.size(); ++port)
        EXPECT_TRUE(same_bits(want[port], got[port])) << kernel->name << " at " << name(level) << ", output " << port;
    }
  }
  return ran;
}

// A5.1, A7.1
TEST(quantized_layers, both_paths_agree) {
  const bool has_onednn = cpu_level() > CpuLevel::scalar;
  for (const LayerShape& shape : shapes()) {
    for (const LayerRule& rule : layer_rules()) {
      SCOPED_TRACE(shape.text() + " " + rule.activation + " " + rule.requantize + " " + std::string(name(rule.x_type)));
      const LayerCase layer(shape, rule);
      const KernelCase training = layer.quantized();
      const std::vector<Tensor> want = run_kernel(reference_of(training), training, CpuLevel::scalar);
      const std::string ran = expect_candidates_agree(training, want);
      EXPECT_EQ(ran.find("onednn_f32") != std::string::npos, has_onednn) << ran;

      expect_candidates_agree(layer.quantized(true), {want[0], Tensor(), Tensor()});

      const KernelCase integer = layer.integer();
      EXPECT_TRUE(same_bits(want[0], run_kernel(reference_of(integer), integer, CpuLevel::scalar)[0]))
          << "the integer path";
      expect_layers_agree(integer, want[0]);
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// Accumulators of several MiB, which are stored past the caches, in planes with and without alignment.
// A0.1
TEST(quantized_layers, large_results_agree) {
  for (const int64_t width : {128, 131}) {
    const LayerCase layer({.n = 4, .c = 16, .h = 129, .w = width, .o = 16, .kh = 1, .kw = 2, .pad = {0, 1, 0, 0}}, {});
    const KernelCase use = layer.quantized();
    expect_candidates_agree(use, run_kernel(reference_quantized_conv2d, use, CpuLevel::scalar));
  }
}

// A5.1
TEST(quantized_layers, evaluation_gives_the_same_codes_and_no_accumulators) {
  const LayerCase layer(shapes()[0], {});
  const auto training = run_kernel(reference_quantized_conv2d, layer.quantized(), CpuLevel::scalar);
  const auto evaluation = run_kernel(reference_quantized_conv2d, layer.quantized(true), CpuLevel::scalar);
  EXPECT_TRUE(same_bits(training[0], evaluation[0]));
  EXPECT_FALSE(evaluation[1].defined());
}

/// Number of different codes: a test whose codes all lie at a limit of the clamp shows little.
TEST(quantized_layers, cases_reach_many_codes) {
  const LayerCase layer(shapes()[0], {});
  const Tensor codes = run_kernel(reference_quantized_conv2d, layer.quantized(), CpuLevel::scalar)[0];
  std::vector<int> seen(256);
  for (const uint8_t code : codes.data<uint8_t>()) seen[code] = 1;
  EXPECT_GT(std::count(seen.begin(), seen.end(), 1), 150);
}

/// Sums as large as an int32 holds, where float32 needs many slices: 255 * 127 * 65,000 is just below 2^31.
// A5.2
TEST(quantized_layers, long_sums_are_exact) {
  const LayerCase layer({.linear = true, .n = 3, .c = 65000, .o = 18},
                        {.bias = false, .x_zero_point = 0, .fill = Fill::extreme});
  const KernelCase use = layer.quantized();
  const std::vector<Tensor> want = run_kernel(reference_quantized_linear, use, CpuLevel::scalar);
  EXPECT_EQ(want[1].data<int32_t>()[0], 255 * 127 * 65000);
  expect_candidates_agree(use, want);
}

/// By hand: (3 - 1) * 5 + (2 - 1) * -7 = 3, bias 1 / (0.5 * 0.25) = 8, factor 0.5 * 0.25 / 0.25 = 0.5, (11 * 0.5 rounds
/// to 6) + 10.
// A4.8, A5.1
TEST(quantized_layers, one_element_by_hand) {
  KernelCase use = LayerCase({.linear = true, .n = 1, .c = 2, .o = 1}, {}).quantized();
  use.in[QuantizedLinear::in::x].data<uint8_t>()[0] = 3;
  use.in[QuantizedLinear::in::x].data<uint8_t>()[1] = 2;
  use.in[QuantizedLinear::in::x_scale] = Tensor::scalar(0.5F);
  use.in[QuantizedLinear::in::x_zero_point] = Tensor::scalar(1);
  use.in[QuantizedLinear::in::w].data<int8_t>()[0] = 5;
  use.in[QuantizedLinear::in::w].data<int8_t>()[1] = -7;
  use.in[QuantizedLinear::in::w_scale] = Tensor::scalar(0.25F);
  use.in[QuantizedLinear::in::b] = Tensor::scalar(1.0F);
  use.in[QuantizedLinear::in::y_scale] = Tensor::scalar(0.25F);
  use.in[QuantizedLinear::in::y_zero_point] = Tensor::scalar(10);
  const std::vector<Tensor> got = run_kernel(reference_quantized_linear, use, CpuLevel::scalar);
  EXPECT_EQ(got[0].data<uint8_t>()[0], 16);
  EXPECT_EQ(got[1].data<int32_t>()[0], 11);
}

/// The error of every kernel that accepts the case. All errors must be equal.
Diagnostic error_of_all(const KernelCase& use) {
  const Diagnostic error = failure_of(reference_of(use), use, CpuLevel::scalar);
  for (const Kernel* kernel : candidates_of(use)) {
    if (verdict_of(*kernel, use, cpu_level())) {
      EXPECT_EQ(failure_of(*kernel, use, cpu_level()), error) << kernel->name;
    }
  }
  return error;
}

// A4.7
TEST(quantized_layers, an_engine_adds_finite_biases_alone) {
  LayerCase layer({.linear = true, .n = 1, .c = 4, .o = 5}, {.requantize = "fbgemm"});
  layer.x_scale = layer.y_scale = layer.w_scale[3] = 1.0F;
  layer.b[3] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(error_of_all(layer.quantized()).where.starts_with("channel 3"));
  EXPECT_EQ(error_of_all(layer.integer()),
            errors::stored_step_out_of_range(3, "w_scale 1 and bias inf", "a positive w_scale and a finite bias"));
}

// A4.2
TEST(quantized_layers, errors_name_the_channel) {
  LayerCase layer({.linear = true, .n = 1, .c = 4, .o = 5}, {});
  layer.x_scale = layer.y_scale = 1.0F;
  layer.w_scale[3] = 1.2e-20F;
  const Diagnostic small = error_of_all(layer.quantized());
  EXPECT_TRUE(small.where.starts_with("channel 3"));
  layer.w_scale[3] = -1.0F;
  const Diagnostic negative = error_of_all(layer.quantized());
  EXPECT_TRUE(negative.where.starts_with("channel 3"));
  EXPECT_NE(negative, small);
  layer.rule.requantize = "power_of_two";
  layer.w_scale = {0.5F, 0.25F, 0.3F, 0.5F, 0.5F};
  EXPECT_TRUE(error_of_all(layer.quantized()).where.starts_with("channel 2"));
  layer.rule.activation = "leaky_relu";
  layer.rule.alpha = 0.1;
  layer.w_scale = {0.5F, 0.25F, 0.5F, 0.5F, 0.5F};
  EXPECT_TRUE(error_of_all(layer.quantized()).where.starts_with("channel 0"));
}

TEST(quantized_layers, refusals_are_sentences) {
  const KernelCase wide = LayerCase(shapes()[0], {.x_type = DType::u16, .x_code_max = 4095}).quantized();
  EXPECT_EQ(refusal_of(cpu_quantized_conv2d_onednn_int8, wide, CpuLevel::avx512),
            errors::kernel_is_for_other_levels("avx512", "vnni or higher, where int8 in oneDNN is exact"));
  if (cpu_level() >= CpuLevel::vnni) {
    EXPECT_EQ(refusal_of(cpu_quantized_conv2d_onednn_int8, wide, cpu_level()),
              errors::kernel_takes_other_types("x", "u16", "codes of one byte"));
  }
  if (cpu_level() >= CpuLevel::avx2) {
    const KernelCase large = LayerCase({.n = 1, .c = 1, .h = 30, .w = 30, .o = 1, .kh = 23, .kw = 23}, {}).quantized();
    EXPECT_EQ(refusal_of(cpu_quantized_conv2d_onednn_f32, large, cpu_level()),
              errors::kernel_sum_too_large("529 products of a channel", "2^24"));
  }
}

}  // namespace
}  // namespace halfstep::kernels
