// integer_conv2d and integer_linear: every candidate, at every level of this machine, against plain nested loops.
#include "tests/kernels/layer_cases.h"

namespace halfstep::kernels {
namespace {

struct Candidate {
  const Kernel& conv2d;
  const Kernel& linear;
  CpuLevel lowest;
};

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = {{cpu_integer_conv2d_pairs, cpu_integer_linear_pairs, CpuLevel::avx2},
                                             {cpu_integer_conv2d_vnni, cpu_integer_linear_vnni, CpuLevel::vnni},
                                             {cpu_integer_conv2d_amx, cpu_integer_linear_amx, CpuLevel::amx}};
  return all;
}

/// Every candidate that takes the case, with constant parameters and without. Returns how many runs there were.
int expect_all_agree(KernelCase use) {
  int runs = 0;
  const bool linear = use.op == "integer_linear";
  const Kernel& reference = linear ? reference_integer_linear : reference_integer_conv2d;
  const Tensor want = run_kernel(reference, use, CpuLevel::scalar)[0];
  for (const bool constant : {false, true}) {
    use.constants.clear();
    for (int i = 1; constant && i < static_cast<int>(use.in.size()); ++i) {
      if (use.in[i].defined()) use.constants.push_back(i);
    }
    for (const Candidate& candidate : candidates()) {
      const Kernel& kernel = linear ? candidate.linear : candidate.conv2d;
      for (const CpuLevel level : available_cpu_levels()) {
        if (!verdict_of(kernel, use, level)) continue;
        ++runs;
        const Tensor got = run_kernel(kernel, use, level, PieceOrder::shuffled)[0];
        EXPECT_TRUE(same_bits(want, got)) << kernel.name << " at " << name(level) << (constant ? ", constant" : "");
      }
    }
  }
  return runs;
}

std::vector<LayerShape> shapes() {
  return {
      {.n = 2, .c = 8, .h = 9, .w = 7, .o = 16, .kh = 3, .kw = 3, .groups = 2, .pad = {1, 0, 2, 1}},
      {.n = 3, .c = 32, .h = 8, .w = 8, .o = 32, .kh = 3, .kw = 3, .groups = 32, .pad = {1, 1, 1, 1}},
      {.n = 1, .c = 6, .h = 20, .w = 21, .o = 12, .kh = 3, .kw = 5, .groups = 6, .pad = {1, 2, 0, 3}},
      {.n = 1,
       .c = 3,
       .h = 11,
       .w = 9,
       .o = 3,
       .kh = 5,
       .kw = 3,
       .groups = 3,
       .stride = {2, 3},
       .dilation = {2, 2},
       .pad = {4, 1, 3, 2}},
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
      {.n = 1, .c = 64, .h = 18, .w = 17, .o = 48, .kh = 3, .kw = 3, .pad = {1, 1, 1, 1}},
      {.n = 1, .c = 32, .h = 20, .w = 40, .o = 33, .kh = 3, .kw = 3, .dilation = {2, 3}, .pad = {2, 3, 2, 3}},
      {.n = 1, .c = 128, .h = 4, .w = 4, .o = 160, .kh = 3, .kw = 3, .pad = {1, 1, 1, 1}},
      {.n = 5, .c = 8, .h = 5, .w = 5, .o = 8},
      {.n = 3, .c = 96, .h = 7, .w = 7, .o = 17},
      {.n = 2, .c = 5, .h = 9, .w = 9, .o = 7, .kh = 3, .kw = 3, .stride = {2, 2}, .pad = {0, 0, 1, 1}},
      {.n = 40, .c = 1, .h = 8, .w = 8, .o = 32, .kh = 3, .kw = 3, .pad = {1, 1, 1, 1}},
      {.n = 1, .c = 3, .h = 64, .w = 64, .o = 16, .kh = 7, .kw = 7, .stride = {2, 2}, .pad = {3, 3, 3, 3}},
      {.n = 1, .c = 1, .h = 1, .w = 1, .o = 1},
      {.n = 1, .c = 4, .h = 2, .w = 3, .o = 20, .kh = 2, .kw = 2, .pad = {5, 6, 7, 4}},
      {.n = 1, .c = 2, .h = 3, .w = 70, .o = 2, .kh = 1, .kw = 4, .groups = 2, .stride = {4, 4}},
      {.linear = true, .n = 37, .c = 64, .o = 10},
      {.linear = true, .n = 1, .c = 129, .o = 66},
      {.linear = true, .n = 130, .c = 3, .o = 1},
      {.linear = true, .n = 2, .c = 700, .o = 40},
  };
}

std::vector<LayerRule> rules() {
  return {
      {},
      {.per_channel = false, .activation = "relu", .x_zero_point = 0, .y_zero_point = 0},
      {.activation = "leaky_relu", .bits = 15},
      {.w_type = DType::i4, .activation = "relu6", .fill = Fill::extreme},
      {.code_max = 15, .requantize = "power_of_two", .x_zero_point = 128, .y_zero_point = 8, .fill = Fill::ties},
      {.activation = "leaky_relu", .alpha = 0.125, .requantize = "power_of_two", .fill = Fill::ties},
      {.requantize = "float32"},
      {.activation = "relu6", .requantize = "float32", .x_zero_point = 128, .y_zero_point = 7, .fill = Fill::ties},
      {.w_type = DType::i4, .per_channel = false, .activation = "relu", .requantize = "float32", .fill = Fill::extreme},
      {.requantize = "fbgemm"},
      {.per_channel = false,
       .activation = "relu6",
       .requantize = "fbgemm",
       .x_zero_point = 128,
       .y_zero_point = 7,
       .fill = Fill::ties},
      {.requantize = "x86", .bias = false},
      {.activation = "relu6", .requantize = "x86", .x_zero_point = 128, .y_zero_point = 7, .fill = Fill::ties},
      {.w_type = DType::i4, .per_channel = false, .activation = "relu", .requantize = "x86", .fill = Fill::extreme},
      {.x_type = DType::u16, .x_code_max = 4095, .out_type = DType::u16, .code_max = 4095, .y_zero_point = 2000},
      {.x_type = DType::u16, .x_code_max = 65535, .w_type = DType::i4, .code_max = 255, .x_zero_point = 40000},
      {.out_type = DType::u16, .code_max = 1023, .fill = Fill::extreme},
      {.x_type = DType::i8,
       .x_code_min = -128,
       .x_code_max = 127,
       .out_type = DType::i8,
       .code_min = -128,
       .code_max = 127,
       .activation = "relu",
       .x_zero_point = -5,
       .y_zero_point = -30},
      {.x_type = DType::i8,
       .x_code_min = -127,
       .x_code_max = 127,
       .out_type = DType::u8,
       .per_channel = false,
       .requantize = "power_of_two",
       .x_zero_point = 0,
       .fill = Fill::ties},
      {.x_type = DType::i16,
       .x_code_min = -2047,
       .x_code_max = 2047,
       .out_type = DType::i16,
       .code_min = -2047,
       .code_max = 2047,
       .shift_rounding = "half_even",
       .x_zero_point = 0,
       .y_zero_point = 0},
      {.x_type = DType::i16,
       .x_code_min = -32768,
       .x_code_max = 32767,
       .w_type = DType::i4,
       .out_type = DType::i8,
       .code_min = -128,
       .code_max = 127,
       .requantize = "x86",
       .x_zero_point = -300,
       .y_zero_point = 1},
      {.shift_rounding = "half_away", .fill = Fill::ties},
      {.activation = "leaky_relu", .shift_rounding = "truncate", .bits = 15},
      {.code_max = 15,
       .requantize = "power_of_two",
       .shift_rounding = "half_even",
       .y_zero_point = 8,
       .fill = Fill::ties},
      {.activation = "leaky_relu", .alpha = 0.3, .shift_rounding = "doubled"},
  };
}

TEST(integer_layers, agree_with_the_reference) {
  int runs = 0;
  for (const LayerShape& shape : shapes()) {
    for (const LayerRule& rule : rules()) {
      SCOPED_TRACE(shape.text() + " " + rule.activation + " " + rule.requantize + " " + std::string(name(rule.x_type)));
      runs += expect_all_agree(LayerCase(shape, rule).integer());
      if (testing::Test::HasFailure()) return;
    }
  }
  for (const Candidate& candidate : candidates()) {
    if (detected_cpu_level() < candidate.lowest)
      GTEST_LOG_(INFO) << "skipped: " << candidate.conv2d.name << " needs " << name(candidate.lowest);
  }
  EXPECT_GT(runs, 0);
}

/// Sums as large as conversion allows: 255 * 127 * 65,000 is just below 2^31.
TEST(integer_layers, long_sums_are_exact) {
  for (const Fill fill : {Fill::extreme, Fill::random}) {
    const LayerRule rule = {.bias = false, .x_zero_point = 0, .fill = fill};
    expect_all_agree(LayerCase({.linear = true, .n = 3, .c = 65000, .o = 18}, rule).integer());
  }
}

/// Accumulators at the ends of int32 and around zero under every kind of multiplier and shift, through a layer that
/// adds its bias to nothing.
TEST(integer_layers, requantize_extreme_accumulators) {
  const std::vector<int32_t> accumulators = {
      INT32_MIN, INT32_MIN + 1, -1073741824, -65537,        -3,       -2, -1, 0, 1, 2, 3,
      65535,     1073741823,    1073741824,  INT32_MAX - 1, INT32_MAX};
  const std::vector<int32_t> multipliers = {0, 1, 2, 3, 25795, 1073741824, 1431655765, 2147483647};
  std::vector<int32_t> bias, shift, multiplier, negative_shift;
  for (int32_t s = 1; s <= 62; ++s) {
    for (const int32_t m : multipliers) {
      for (const int32_t acc : accumulators) {
        bias.push_back(acc);
        shift.push_back(s);
        multiplier.push_back(m);
        negative_shift.push_back(63 - s);
      }
    }
  }
  const auto o = static_cast<int64_t>(bias.size());
  for (const bool leaky : {false, true}) {
    KernelCase use = LayerCase({.linear = true, .n = 2, .c = 4, .o = o}, {.y_zero_point = 30}).integer();
    use.in[IntegerLinear::in::w] = Tensor(DType::i8, {o, 4});
    use.in[IntegerLinear::in::b] = LayerCase::ints(bias);
    use.in[IntegerLinear::in::shift] = LayerCase::ints(shift);
    use.in[IntegerLinear::in::multiplier] = LayerCase::ints(multiplier);
    if (leaky) {
      use.in[IntegerLinear::in::negative_shift] = LayerCase::ints(negative_shift);
      use.in[IntegerLinear::in::negative_multiplier] = LayerCase::ints(multiplier);
    }
    expect_all_agree(use);
  }
}

TEST(integer_layers, power_of_two_shifts_over_their_range) {
  std::vector<int32_t> shift, bias;
  for (int32_t k = arith::kMinPowerShift; k <= arith::kMaxPowerShift; ++k) {
    for (const int32_t acc : {INT32_MIN, -5, -1, 1, 6, INT32_MAX}) {
      shift.push_back(k);
      bias.push_back(acc);
    }
  }
  const auto o = static_cast<int64_t>(bias.size());
  KernelCase use = LayerCase({.linear = true, .n = 1, .c = 1, .o = o}, {.requantize = "power_of_two"}).integer();
  use.in[IntegerLinear::in::w] = Tensor(DType::i8, {o, 1});
  use.in[IntegerLinear::in::b] = LayerCase::ints(bias);
  use.in[IntegerLinear::in::shift] = LayerCase::ints(shift);
  expect_all_agree(use);
}

/// Vectors of reference/fqat.md, section 16.2: half a step goes towards plus infinity.
TEST(integer_layers, rounds_half_towards_plus_infinity) {
  KernelCase use = LayerCase({.linear = true, .n = 1, .c = 1, .o = 6}, {.y_zero_point = 50}).integer();
  use.in[IntegerLinear::in::w] = Tensor(DType::i8, {6, 1});
  use.in[IntegerLinear::in::b] = LayerCase::ints({5, -5, 3, -3, 1000, -1000});
  use.in[IntegerLinear::in::multiplier] =
      LayerCase::ints({1073741824, 1073741824, 1073741824, 1073741824, 1690499128, 1690499128});
  use.in[IntegerLinear::in::shift] = LayerCase::ints({31, 31, 31, 31, 37, 37});
  const Tensor got = run_kernel(reference_integer_linear, use, CpuLevel::scalar)[0];
  EXPECT_EQ(std::vector<int>(got.data<uint8_t>().begin(), got.data<uint8_t>().end()),
            (std::vector<int>{53, 48, 52, 49, 62, 38}));
  expect_all_agree(use);
}

TEST(integer_layers, an_illegal_step_names_its_channel) {
  KernelCase use = LayerCase({.linear = true, .n = 1, .c = 4, .o = 5}, {}).integer();
  use.in[IntegerLinear::in::shift] = LayerCase::ints({40, 40, 40, 63, 40});
  const harness::CaseProblem owner(use, CpuLevel::scalar);
  const Plan plan = reference_integer_linear.prepare(owner.problem());
  const harness::CaseCall operands(use);
  Call call = operands.call();
  call.state = plan.state.get();
  const Status status = reference_integer_linear.run(call, 0, 0);
  EXPECT_NE(status.message().find("channel 3: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("shift 63"), std::string::npos) << status.message();
  if (detected_cpu_level() < CpuLevel::avx2) return;
  use.constants = {1, 2, 3, 4};
  const harness::CaseProblem constant(use, CpuLevel::avx2);
  EXPECT_THROW(cpu_integer_linear_pairs.prepare(constant.problem()), Error);
}

TEST(integer_layers, refusals_are_sentences) {
  const KernelCase wide = LayerCase(shapes()[0], {.x_type = DType::u16, .x_code_max = 4095}).integer();
  EXPECT_EQ(verdict_of(cpu_integer_conv2d_vnni, wide, CpuLevel::vnni).reason(), "VNNI multiplies u8 codes, x has u16");
  EXPECT_EQ(verdict_of(cpu_integer_conv2d_amx, wide, CpuLevel::vnni).reason(), "vnni has no AMX");
  EXPECT_EQ(verdict_of(cpu_integer_conv2d_pairs, wide, CpuLevel::scalar).reason(), "the scalar level was asked for");
  const KernelCase depthwise = LayerCase(shapes()[1], {}).integer();
  EXPECT_EQ(verdict_of(cpu_integer_conv2d_amx, depthwise, CpuLevel::amx).reason(),
            "a group of 1 output channels is smaller than 16");
}

}  // namespace
}  // namespace halfstep::kernels
