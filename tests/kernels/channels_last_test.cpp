// Layers on channels-last images: the fast kernels against the reference, for all extents, cuts and vector lengths.
#include "halfstep/engine/kernels/image/channels_last/cpu/tiling.h"
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

struct Shape {
  const char* what;
  int64_t n, h, w, c, o, kh, kw;
  int64_t groups = 1;
  std::vector<int64_t> stride = {1, 1}, dilation = {1, 1}, pad = {0, 0, 0, 0};
  bool bias = true, residual = false;

  int64_t oh() const { return (h + pad[0] + pad[2] - dilation[0] * (kh - 1) - 1) / stride[0] + 1; }
  int64_t ow() const { return (w + pad[1] + pad[3] - dilation[1] * (kw - 1) - 1) / stride[1] + 1; }
  Dims out_dims() const { return {n, oh(), ow(), o}; }
  int64_t terms() const { return c / groups * kh * kw; }
  ConvGeometry geometry() const {
    return {n,
            c,
            h,
            w,
            o,
            oh(),
            ow(),
            groups,
            kh,
            kw,
            {stride[0], stride[1]},
            {dilation[0], dilation[1]},
            {pad[0], pad[1], pad[2], pad[3]}};
  }
};

const std::vector<int64_t> kAround = {1, 1, 1, 1};
const std::vector<Shape> kShapes = {
    {"3x3 of a residual network", 5, 32, 32, 16, 16, 3, 3, 1, {1, 1}, {1, 1}, kAround, true, true},
    {"images of three channels", 2, 30, 33, 3, 24, 7, 7, 1, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {"short lines in pairs", 3, 7, 7, 40, 70, 3, 3, 1, {1, 1}, {1, 1}, kAround, true, true},
    {"lines of one pixel", 2, 5, 1, 8, 33, 3, 1, 1, {1, 1}, {1, 1}, {1, 0, 1, 0}, false, true},
    {"large weights in parts", 1, 7, 7, 256, 512, 3, 3, 1, {1, 1}, {1, 1}, kAround},
    {"1x1", 3, 11, 9, 24, 40, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}, true, true},
    {"1x1 with stride", 2, 9, 9, 32, 17, 1, 1, 1, {2, 2}},
    {"rows of a linear layer", 37, 1, 1, 65, 10, 1, 1},
    {"asymmetric padding, dilation, groups", 2, 9, 7, 6, 4, 3, 3, 2, {2, 1}, {1, 2}, {1, 0, 2, 3}},
    {"padding beyond the kernel", 2, 5, 5, 4, 8, 2, 2, 1, {1, 1}, {1, 1}, {3, 4, 5, 2}},
    {"depthwise", 2, 19, 23, 48, 48, 3, 3, 48, {1, 1}, {1, 1}, kAround, true, true},
    {"depthwise, odd channels, stride and dilation", 2, 13, 12, 19, 19, 5, 3, 19, {2, 1}, {1, 2}, {2, 2, 2, 2}},
    {"depthwise narrower than its kernel", 1, 2, 2, 16, 16, 5, 5, 16, {1, 1}, {1, 1}, {2, 2, 2, 2}, false},
    {"depthwise with padding beyond the kernel", 1, 3, 3, 9, 9, 2, 2, 9, {1, 1}, {1, 1}, {3, 4, 3, 4}},
    {"depthwise with two outputs a channel", 2, 9, 9, 8, 16, 3, 3, 8, {1, 1}, {1, 1}, kAround},
};

KernelCase case_of(const Shape& s, const std::string& activation = "none") {
  return {"fused_conv2d",
          {{"groups", s.groups},
           {"stride", s.stride},
           {"dilation", s.dilation},
           {"pad", s.pad},
           {"activation", activation},
           {"alpha", 0.125},
           {"layout", std::string("channels_last")}},
          {normal_tensor({s.n, s.h, s.w, s.c}, 1, DType::f32),
           normal_tensor({s.o, s.c / s.groups, s.kh, s.kw}, 2, DType::f32),
           s.bias ? normal_tensor({s.o}, 3, DType::f32) : Tensor(),
           s.residual ? normal_tensor(s.out_dims(), 4, DType::f32) : Tensor()},
          {Type{DType::f32, s.out_dims()}}};
}

const Kernel& kernel_of(const Shape& s) {
  return s.groups == s.c && s.o == s.c ? cpu_fused_conv2d_depthwise : cpu_fused_conv2d_tiles;
}

class ChannelsLastConv : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (cpu_level() == CpuLevel::scalar) GTEST_SKIP() << "the level is scalar";
  }
};

// A0.1
TEST_P(ChannelsLastConv, IsNearTheReference) {
  const Shape& s = GetParam();
  KernelCase use = case_of(s);
  const Tensor want = run_kernel(reference_fused_conv2d, use, CpuLevel::scalar)[0];
  const Tensor magnitude = run_kernel(reference_fused_conv2d, magnitudes(use), CpuLevel::scalar)[0];
  const Tensor found = run_every_way(kernel_of(s), use)[0];
  EXPECT_TRUE(within_roundings(want, found, magnitude, static_cast<double>(s.terms()) + 4));
  use.constants = {FusedConv2d::in::w};
  EXPECT_TRUE(same_bits(found, run_every_way(kernel_of(s), use)[0])) << "constant weights";
}

TEST_P(ChannelsLastConv, ActivationIsAppliedToTheSumsAndKeepsNaN) {
  const Shape& s = GetParam();
  KernelCase use = case_of(s);
  use.in[0].data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Tensor plain = run_kernel(kernel_of(s), use, cpu_level())[0];
  for (const std::string activation : {"relu", "relu6", "leaky_relu"}) {
    use.attributes["activation"] = activation;
    Tensor want = plain.clone();
    for (float& v : want.data<float>()) {
      if (activation == "leaky_relu") {
        v = v < 0 ? 0.125F * v : v;
      } else {
        v = v < 0 ? 0.0F : activation == "relu6" && v > 6 ? 6.0F : v;
      }
    }
    EXPECT_TRUE(same_bits(want, run_every_way(kernel_of(s), use)[0])) << activation;
  }
}

std::string name_of(const testing::TestParamInfo<Shape>& info) {
  std::string name = info.param.what;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ChannelsLastConv, testing::ValuesIn(kShapes), name_of);

TEST(Tiling, PiecesCoverTheResultOnce) {
  for (const Shape& s : kShapes) {
    for (const int64_t lanes : {8, 16}) {
      const channels_last::Tiling tiling(s.geometry(), lanes);
      const ConvGeometry& g = tiling.geometry();
      std::vector<int> written(static_cast<size_t>(s.n * s.oh() * s.ow() * s.o));
      for (int64_t number = 0; number < tiling.pieces(); ++number) {
        const auto piece = tiling.piece(number);
        for (int64_t n = piece.image; n < piece.image + piece.images; ++n) {
          for (int64_t y = piece.first; y < piece.first + piece.lines; ++y) {
            for (int64_t x = 0; x < tiling.pixels(y); ++x) {
              for (int64_t b = piece.block; b < piece.last_block; ++b) {
                const auto& block = tiling.blocks()[static_cast<size_t>(b)];
                const int64_t at = ((n * g.oh + y) * g.ow + x) * g.o + block.channel;
                for (int64_t c = 0; c < block.channels; ++c) ++written[static_cast<size_t>(at + c)];
              }
            }
          }
        }
      }
      EXPECT_TRUE(std::ranges::all_of(written, [](int times) { return times == 1; })) << s.what << ", " << lanes;
    }
  }
}

TEST(Tiling, LargeWorkIsCutForSeveralThreads) {
  for (const Shape& s : {Shape{"", 1, 56, 56, 64, 64, 3, 3, 1, {1, 1}, {1, 1}, kAround},
                         Shape{"", 1, 7, 7, 512, 512, 3, 3, 1, {1, 1}, {1, 1}, kAround},
                         Shape{"", 128, 8, 8, 64, 64, 3, 3, 1, {1, 1}, {1, 1}, kAround}})
    EXPECT_GE(channels_last::Tiling(s.geometry(), 16).pieces(), 8) << s.c;
}

TEST(Transpose, ExchangesAxesOfMatrices) {
  if (cpu_level() == CpuLevel::scalar) GTEST_SKIP() << "the level is scalar";
  for (const int64_t rows : {1, 2, 3, 4, 7, 33}) {
    for (const int64_t columns : {1, 5, 16, 67, 30000}) {
      Tensor codes(DType::u8, {2, rows, columns});
      for (size_t i = 0; i < codes.data<uint8_t>().size(); ++i) codes.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37);
      for (const Tensor& x : {normal_tensor({2, rows, columns}, 1, DType::f32), codes}) {
        const KernelCase use{
            "transpose", {{"perm", std::vector<int64_t>{0, 2, 1}}}, {x}, {Type{x.type().dtype, {2, columns, rows}}}};
        EXPECT_TRUE(same_bits(run_kernel(reference_transpose, use, CpuLevel::scalar)[0],
                              run_every_way(cpu_transpose_matrices, use)[0]))
            << rows << " " << columns;
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
