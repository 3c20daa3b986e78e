// Layers of the integer program on images whose channels are the last axis: the reference against integer_conv2d's and
// integer_avg_pool2d's on the same images, and every fast kernel against it, at every level of this machine.
#include "halfstep/kernels/integer/cpu/nhwc_tiling.h"
#include "tests/kernels/elementwise_cases.h"

namespace halfstep::kernels {
namespace {

/// [n, c, h, w] as [n, h, w, c].
Dims last_dims(const Dims& dims) { return {dims[0], dims[2], dims[3], dims[1]}; }

Tensor channels_last_of(const Tensor& images) {
  const KernelCase use{"transpose",
                       {{"perm", std::vector<int64_t>{0, 2, 3, 1}}},
                       {images},
                       {Type{images.type().dtype, last_dims(images.dims())}}};
  return run_kernel(reference_transpose, use, CpuLevel::scalar)[0];
}

KernelCase channels_last_of(KernelCase use) {
  use.op = "channels_last_" + use.op;
  use.in[0] = channels_last_of(use.in[0]);
  use.out[0]->dims = last_dims(use.out[0]->dims);
  return use;
}

/// Runs each candidate that takes the case at each level, with constant parameters and without. Returns how many.
int expect_all_agree(KernelCase use, const Tensor& want, std::initializer_list<const Kernel*> candidates) {
  int runs = 0;
  for (const bool constant : {false, true}) {
    use.constants.clear();
    for (int i = 1; constant && i < static_cast<int>(use.in.size()); ++i) {
      if (use.in[i].defined()) use.constants.push_back(i);
    }
    for (const Kernel* kernel : candidates) {
      for (const CpuLevel level : available_cpu_levels()) {
        if (!verdict_of(*kernel, use, level)) continue;
        ++runs;
        EXPECT_TRUE(same_bits(want, run_kernel(*kernel, use, level, PieceOrder::shuffled)[0]))
            << kernel->name << " at " << name(level) << (constant ? ", constant" : "");
      }
    }
  }
  return runs;
}

int expect_layers_agree(const KernelCase& use) {
  const Tensor want = channels_last_of(run_kernel(reference_integer_conv2d, use, CpuLevel::scalar)[0]);
  const KernelCase last = channels_last_of(use);
  EXPECT_TRUE(same_bits(want, run_kernel(reference_channels_last_integer_conv2d, last, CpuLevel::scalar)[0]));
  return expect_all_agree(last, want,
                          {&cpu_channels_last_integer_conv2d_depthwise, &cpu_channels_last_integer_conv2d_amx,
                           &cpu_channels_last_integer_conv2d_vnni});
}

const std::vector<int64_t> kAround = {1, 1, 1, 1};

std::vector<LayerShape> shapes() {
  return {
      {.n = 2, .c = 8, .h = 9, .w = 7, .o = 16, .kh = 3, .kw = 3, .groups = 2, .pad = {1, 0, 2, 1}},
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
      {.n = 1, .c = 1, .h = 1, .w = 1, .o = 1},
      {.n = 1, .c = 4, .h = 2, .w = 3, .o = 20, .kh = 2, .kw = 2, .pad = {5, 6, 7, 4}},
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
  };
}

std::vector<LayerRule> rules() {
  return {
      {},
      {.per_channel = false, .activation = "relu", .x_zero_point = 0, .y_zero_point = 0},
      {.activation = "leaky_relu", .bits = 15},
      {.code_max = 15, .requantize = "power_of_two", .x_zero_point = 128, .y_zero_point = 8, .fill = Fill::ties},
      {.requantize = "float32", .x_zero_point = 255},
      {.activation = "relu6", .requantize = "float32", .x_zero_point = 128, .y_zero_point = 7, .fill = Fill::ties},
      {.w_type = DType::i4, .per_channel = false, .activation = "relu", .requantize = "float32", .fill = Fill::extreme},
  };
}

TEST(integer_channels_last, layers_agree_with_the_reference) {
  int runs = 0;
  for (const LayerShape& shape : shapes()) {
    for (const LayerRule& rule : rules()) {
      SCOPED_TRACE(shape.text() + " " + rule.activation + " " + rule.requantize);
      runs += expect_layers_agree(LayerCase(shape, rule).integer());
      if (testing::Test::HasFailure()) return;
    }
  }
  if (detected_cpu_level() < CpuLevel::vnni) {
    GTEST_LOG_(INFO) << "skipped: the fast kernels need " << name(CpuLevel::vnni);
  } else {
    EXPECT_GT(runs, 0);
  }
}

/// Accumulators at the ends of int32 and around zero under every kind of step, through a layer that adds its bias to
/// nothing.
TEST(integer_channels_last, extreme_accumulators) {
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

TEST(integer_channels_last, refusals_are_sentences) {
  const auto depthwise =
      channels_last_of(LayerCase({.n = 1, .c = 8, .h = 4, .w = 4, .o = 8, .groups = 2}, {}).integer());
  EXPECT_EQ(verdict_of(cpu_channels_last_integer_conv2d_depthwise, depthwise, CpuLevel::vnni).reason(),
            "a group has 4 input and 4 output channels");
  EXPECT_EQ(verdict_of(cpu_channels_last_integer_conv2d_vnni, depthwise, CpuLevel::avx512).reason(),
            "avx512 has no VNNI");
  EXPECT_EQ(verdict_of(cpu_channels_last_integer_conv2d_amx, depthwise, CpuLevel::vnni).reason(), "vnni has no AMX");
}

TEST(integer_channels_last, averages_agree_with_the_reference) {
  const CodesTarget rounded{.scale = 0.05F, .zero_point = 9, .activation = "relu"};
  const CodesTarget in_float{.scale = 0.05F, .zero_point = 9, .activation = "relu", .requantize = "float32"};
  const std::vector<std::pair<AverageCase, CodesTarget>> cases = {
      {{{3, 2}, {2, 1}, {1, 0, 1, 1}, true}, rounded},
      {{{3, 2}, {2, 1}, {1, 0, 1, 1}, false}, rounded},
      {{{9, 7}}, in_float}};  // float32 averages codes of whole images alone
  for (const int64_t channels : {1, 3, 16, 37, 1280}) {
    const CodesValue x(DType::u8, {2, channels, 9, 7}, 255, 1);
    for (const auto& [window, y] : cases) {
      const KernelCase use = window.integer(x, y);
      const Tensor want = channels_last_of(run_kernel(reference_integer_avg_pool2d, use, CpuLevel::scalar)[0]);
      const KernelCase last = channels_last_of(use);
      EXPECT_TRUE(same_bits(want, run_kernel(reference_channels_last_integer_avg_pool2d, last, CpuLevel::scalar)[0]));
      expect_all_agree(last, want, {&cpu_channels_last_integer_avg_pool2d_sums});
    }
  }
}

TEST(integer_channels_last, pieces_cover_the_result_once) {
  for (const LayerShape& shape : shapes()) {
    const KernelCase use = channels_last_of(LayerCase(shape, {}).integer());
    const harness::CaseProblem owner(use, CpuLevel::amx);
    const integer::NhwcLayer layer(owner.problem());
    for (const int64_t pixels : {12, 16}) {
      const integer::NhwcTiling tiling(layer, pixels);
      std::vector<int> written(static_cast<size_t>(count_elements(use.out[0]->dims)));
      for (int64_t number = 0; number < tiling.pieces(); ++number) {
        const auto piece = tiling.piece(number);
        for (int64_t t = 0; t < piece.images * piece.lines * tiling.tiles_of_line(); ++t) {
          const auto spot = tiling.spot(piece, t);
          for (int64_t p = spot.known; p < tiling.tile_pixels(); ++p) {
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
