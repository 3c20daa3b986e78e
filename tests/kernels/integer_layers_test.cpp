// Convolutions and matrix products of the integer program: every candidate, at every CPU level of this machine, against
// plain nested loops.
#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_tiling.h"
#include "tests/kernels/integer_candidates.h"

namespace halfstep::kernels {
namespace {

const std::vector<int64_t> kAround = {1, 1, 1, 1};

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
      {.n = 5, .c = 16, .h = 32, .w = 32, .o = 16, .kh = 3, .kw = 3, .pad = kAround},
      {.n = 2, .c = 3, .h = 30, .w = 33, .o = 24, .kh = 7, .kw = 7, .stride = {2, 2}, .pad = {3, 3, 3, 3}},
      {.n = 3, .c = 40, .h = 7, .w = 7, .o = 70, .kh = 3, .kw = 3, .pad = kAround},
      {.n = 2,
       .c = 64,
       .h = 5,
       .w = 5,
       .o = 33,
       .kh = 3,
       .kw = 3,
       .stride = {2, 1},
       .dilation = {1, 2},
       .pad = {1, 2, 1, 2}},
      {.n = 1, .c = 256, .h = 7, .w = 7, .o = 160, .kh = 3, .kw = 3, .pad = kAround},
      {.n = 3, .c = 96, .h = 11, .w = 9, .o = 24},
      {.n = 1, .c = 24, .h = 20, .w = 21, .o = 144},
      {.n = 2, .c = 160, .h = 9, .w = 9, .o = 17, .stride = {2, 2}},
      {.n = 3, .c = 5, .h = 6, .w = 7, .o = 9},
      {.n = 37, .c = 64, .h = 1, .w = 1, .o = 10},
      {.n = 3, .c = 144, .h = 8, .w = 8, .o = 144, .kh = 3, .kw = 3, .groups = 144, .pad = kAround},
      {.n = 1, .c = 96, .h = 13, .w = 12, .o = 96, .kh = 3, .kw = 3, .groups = 96, .stride = {2, 2}, .pad = kAround},
      {.n = 2,
       .c = 19,
       .h = 13,
       .w = 12,
       .o = 19,
       .kh = 5,
       .kw = 3,
       .groups = 19,
       .stride = {2, 1},
       .dilation = {1, 2},
       .pad = {2, 2, 2, 2}},
      {.n = 1, .c = 70, .h = 3, .w = 3, .o = 70, .kh = 2, .kw = 2, .groups = 70, .pad = {3, 4, 3, 4}},
      {.n = 2, .c = 8, .h = 9, .w = 9, .o = 16, .kh = 3, .kw = 3, .groups = 8, .pad = kAround},
      {.linear = true, .n = 37, .c = 64, .o = 10},
      {.linear = true, .n = 1, .c = 129, .o = 66},
      {.linear = true, .n = 130, .c = 3, .o = 1},
      {.linear = true, .n = 2, .c = 700, .o = 40},
      {.linear = true, .n = 65, .c = 9, .o = 48},
      {.linear = true, .n = 515, .c = 250, .o = 64},
  };
}

// A0.1, A5.1
TEST(integer_layers, agree_with_the_reference) {
  int runs = 0;
  for (const LayerShape& shape : shapes()) {
    for (const LayerRule& rule : layer_rules()) {
      SCOPED_TRACE(shape.text() + " " + rule.activation + " " + rule.requantize + " " + std::string(name(rule.x_type)));
      runs += expect_layers_agree(LayerCase(shape, rule).integer());
      if (testing::Test::HasFailure()) return;
    }
  }
  for (const CpuLevel level : {CpuLevel::avx2, CpuLevel::avx512, CpuLevel::vnni, CpuLevel::amx}) {
    if (detected_cpu_level() < level) GTEST_LOG_(INFO) << "skipped: this machine has no " << name(level);
  }
  EXPECT_EQ(runs > 0, detected_cpu_level() > CpuLevel::scalar);
}

/// Sums as large as conversion allows: 255 * 127 * 65,000 is just below 2^31.
// A5.2
TEST(integer_layers, long_sums_are_exact) {
  for (const Fill fill : {Fill::extreme, Fill::random}) {
    const LayerRule rule = {.bias = false, .x_zero_point = 0, .fill = fill};
    expect_layers_agree(LayerCase({.linear = true, .n = 3, .c = 65000, .o = 18}, rule).integer());
  }
}

/// Accumulators at the ends of int32 and around zero with every kind of multiplier and shift, through a layer that adds
/// its bias to zero.
// A4.1
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
    expect_layers_agree(use);
  }
}

/// Accumulators at the ends of int32 and around zero with every kind of step, through a layer that adds its bias to
/// zero.
// A0.1
TEST(integer_layers, extreme_accumulators_of_convolutions) {
  const std::vector<int32_t> accumulators = {INT32_MIN, INT32_MIN + 1, -65537,        -3,       -1, 0, 1,
                                             2,         65535,         INT32_MAX - 1, INT32_MAX};
  std::vector<int32_t> bias, shift, multiplier;
  std::vector<float> scale;
  for (int32_t s = 1; s <= 62; ++s) {
    for (const int32_t m : {0, 1, 25795, 1073741824, 2147483647}) {
      for (const int32_t acc : accumulators) {
        bias.push_back(acc);
        shift.push_back(s);
        multiplier.push_back(m);
        scale.push_back(std::ldexp(static_cast<float>(m % 7 + 1), 8 - s));
      }
    }
  }
  const auto o = static_cast<int64_t>(bias.size());
  for (const bool in_float : {false, true}) {
    KernelCase use =
        LayerCase({.n = 3, .c = 4, .o = o}, {.requantize = in_float ? "float32" : "fixed_point", .y_zero_point = 30})
            .integer();
    use.in[IntegerConv2d::in::w] = Tensor(DType::i8, {o, 4, 1, 1});
    use.in[IntegerConv2d::in::b] = LayerCase::ints(bias);
    if (in_float) {
      use.in[IntegerConv2d::in::w_scale] = LayerCase::floats(scale);
    } else {
      use.in[IntegerConv2d::in::shift] = LayerCase::ints(shift);
      use.in[IntegerConv2d::in::multiplier] = LayerCase::ints(multiplier);
    }
    expect_layers_agree(use);
  }
}

// A4.4
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
  expect_layers_agree(use);
}

/// Vectors of reference/fqat.md, section 16.2: half a step rounds towards plus infinity.
// A4.1
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
  expect_layers_agree(use);
}

// A4.2
TEST(integer_layers, an_illegal_step_names_its_channel) {
  KernelCase use = LayerCase({.linear = true, .n = 1, .c = 4, .o = 5}, {}).integer();
  use.in[IntegerLinear::in::shift] = LayerCase::ints({40, 40, 40, 63, 40});
  const Diagnostic illegal = failure_of(reference_integer_linear, use, CpuLevel::scalar);
  EXPECT_EQ(illegal.entry, &errors::stored_step_out_of_range_entry);
  EXPECT_EQ(illegal.where, "channel 3");
  if (detected_cpu_level() < CpuLevel::avx2) return;
  use.constants = {1, 2, 3, 4};
  const harness::CaseProblem constant(use, CpuLevel::avx2);
  EXPECT_EQ(test::diagnostic_of([&] { cpu_integer_linear_tiles.prepare(constant.problem()); }), illegal);
}

TEST(integer_layers, refusals_are_sentences) {
  const KernelCase wide =
      channels_last_of(LayerCase(shapes()[0], {.x_type = DType::u16, .x_code_max = 4095}).integer());
  EXPECT_EQ(refusal_of(cpu_integer_conv2d_amx, wide, CpuLevel::amx),
            errors::kernel_takes_other_types("x", "u16", "u8"));
  EXPECT_EQ(refusal_of(cpu_integer_conv2d_amx, wide, CpuLevel::vnni),
            errors::kernel_is_for_other_levels("vnni", "amx"));
  EXPECT_EQ(refusal_of(cpu_integer_conv2d_tiles, wide, CpuLevel::scalar),
            errors::kernel_is_for_other_levels("scalar", "avx2 or higher"));
  EXPECT_EQ(refusal_of(cpu_integer_conv2d_depthwise, wide, CpuLevel::avx2),
            errors::kernel_is_for_other_sizes("groups with 4 input and 8 output channels", "one each"));
  const KernelCase product = LayerCase({.linear = true, .n = 1, .c = 64, .o = 10}, {}).integer();
  EXPECT_EQ(refusal_of(cpu_integer_linear_amx, product, CpuLevel::amx),
            errors::kernel_is_for_other_sizes("10 outputs", "at least 16"));
}

TEST(integer_layers, pieces_cover_the_result_once) {
  for (const LayerShape& shape : shapes()) {
    const KernelCase given = LayerCase(shape, {}).integer(), use = shape.linear ? given : channels_last_of(given);
    const harness::CaseProblem owner(use, CpuLevel::amx);
    const integer::NhwcLayer layer(owner.problem());
    const auto widen = [](const void*, int64_t, void*) {};
    for (const int64_t pixels : {6, 12, 16}) {
      const integer::NhwcTiling tiling(
          layer, {.tile_pixels = pixels, .tile = nullptr, .widen = pixels < 16 ? +widen : nullptr});
      std::vector<int> written(static_cast<size_t>(count_elements(use.out[0]->dims)));
      for (int64_t number = 0; number < tiling.pieces(); ++number) {
        const auto piece = tiling.piece(number);
        for (int64_t t = 0; t < piece.images * piece.lines * tiling.tiles_of_line(); ++t) {
          const auto spot = tiling.spot(piece, t);
          EXPECT_TRUE(spot.x >= 0 || tiling.scratch_bytes() == 0) << shape.text();
          for (int64_t p = spot.known; p < spot.end; ++p) {
            for (int64_t b = piece.block; b < piece.last_block; ++b) {
              const auto& block = tiling.blocks()[static_cast<size_t>(b)];
              const int64_t at = spot.out + p * tiling.out_step() + block.channel;
              for (int64_t c = 0; c < block.channels; ++c) ++written.at(static_cast<size_t>(at + c));
            }
          }
        }
      }
      EXPECT_TRUE(std::ranges::all_of(written, [](int times) { return times == 1; })) << shape.text() << ", " << pixels;
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
