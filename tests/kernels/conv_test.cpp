// conv2d, fused_conv2d and the two gradients: oneDNN against the reference, the reference against finite differences.
#include "halfstep/engine/kernels/image/conv/cpu/cut.h"
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

struct Shape {
  const char* what;
  int64_t n, c, h, w, o, kh, kw;
  int64_t groups = 1;
  std::vector<int64_t> stride = {1, 1}, dilation = {1, 1}, pad = {0, 0, 0, 0};
  bool bias = true;

  int64_t oh() const { return (h + pad[0] + pad[2] - dilation[0] * (kh - 1) - 1) / stride[0] + 1; }
  int64_t ow() const { return (w + pad[1] + pad[3] - dilation[1] * (kw - 1) - 1) / stride[1] + 1; }
  Dims x_dims() const { return {n, c, h, w}; }
  Dims w_dims() const { return {o, c / groups, kh, kw}; }
  Dims out_dims() const { return {n, o, oh(), ow()}; }
  Attributes attributes() const {
    return {{"groups", groups}, {"stride", stride}, {"dilation", dilation}, {"pad", pad}};
  }
};

const std::vector<Shape> kShapes = {
    {"3x3 of a residual network", 20, 16, 32, 32, 16, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"images of three channels", 5, 3, 32, 32, 16, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"images of one channel", 37, 1, 8, 8, 32, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"batch 1 in parts", 1, 64, 16, 16, 64, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"large weights, small planes", 70, 32, 4, 4, 48, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"parts and several images", 2, 64, 8, 8, 64, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"1x1", 17, 24, 7, 9, 40, 1, 1},
    {"1x1 with stride", 3, 32, 16, 16, 64, 1, 1, 1, {2, 2}},
    {"stride larger than kernel", 3, 5, 11, 13, 7, 2, 2, 1, {3, 4}},
    {"asymmetric padding, dilation, groups", 2, 6, 9, 7, 4, 3, 3, 2, {2, 1}, {1, 2}, {1, 0, 2, 3}},
    {"padding beyond the kernel", 2, 4, 5, 5, 8, 2, 2, 1, {1, 1}, {1, 1}, {3, 4, 5, 2}},
    {"groups of 16", 4, 64, 8, 8, 64, 3, 3, 4, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"groups at batch 1", 1, 64, 32, 32, 64, 3, 3, 4, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise", 33, 32, 8, 8, 32, 3, 3, 32, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise at batch 1, in parts", 1, 256, 56, 56, 256, 3, 3, 256, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise, odd channels and stride", 2, 19, 10, 9, 19, 5, 3, 19, {2, 2}, {1, 1}, {2, 1, 2, 1}},
    {"depthwise with two outputs a channel", 2, 8, 9, 9, 16, 3, 3, 8, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"one pixel", 2, 3, 1, 1, 5, 1, 1},
    {"one row, no bias", 2, 3, 1, 19, 5, 1, 3, 1, {1, 1}, {1, 1}, {0, 1, 0, 1}, false},
};

KernelCase forward_case(const Shape& s, DType dtype = DType::f32) {
  Tensor bias = s.bias ? normal_tensor({s.o}, 3, dtype) : Tensor();
  return {"conv2d",
          s.attributes(),
          {normal_tensor(s.x_dims(), 1, dtype), normal_tensor(s.w_dims(), 2, dtype), bias},
          {Type{dtype, s.out_dims()}}};
}

KernelCase grad_x_case(const Shape& s, DType dtype = DType::f32) {
  Attributes attributes = s.attributes();
  attributes["height"] = s.h;
  attributes["width"] = s.w;
  return {"conv2d_grad_x",
          attributes,
          {normal_tensor(s.out_dims(), 4, dtype), normal_tensor(s.w_dims(), 2, dtype)},
          {Type{dtype, s.x_dims()}}};
}

KernelCase grad_w_case(const Shape& s, DType dtype = DType::f32) {
  Attributes attributes = s.attributes();
  attributes["kernel"] = std::vector<int64_t>{s.kh, s.kw};
  return {"conv2d_grad_w",
          attributes,
          {normal_tensor(s.x_dims(), 1, dtype), normal_tensor(s.out_dims(), 4, dtype)},
          {Type{dtype, s.w_dims()}}};
}

/// `terms`: products in the longest sum.
void expect_close(const Kernel& reference, const Kernel& kernel, const KernelCase& use, int64_t terms) {
  const Tensor want = run_kernel(reference, use, CpuLevel::scalar)[0];
  const Tensor magnitude = run_kernel(reference, magnitudes(use), CpuLevel::scalar)[0];
  // Each product and each addition rounds once, the bias adds one rounding, and the result of the reference rounds
  // once.
  EXPECT_TRUE(within_roundings(want, run_every_way(kernel, use)[0], magnitude, static_cast<double>(terms) + 3));
}

class Conv : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (cpu_level() == CpuLevel::scalar) GTEST_SKIP() << "the level is scalar";
  }
};

// A0.1
TEST_P(Conv, ForwardIsNearTheReference) {
  const Shape& s = GetParam();
  KernelCase use = forward_case(s);
  const int64_t terms = s.c / s.groups * s.kh * s.kw;
  expect_close(reference_conv2d, cpu_conv2d_onednn, use, terms);
  const Tensor packed_each_call = run_kernel(cpu_conv2d_onednn, use, cpu_level())[0];
  use.constants = {Conv2d::in::w};
  EXPECT_TRUE(same_bits(packed_each_call, run_every_way(cpu_conv2d_onednn, use)[0])) << "constant weights";
}

TEST_P(Conv, GradientsAreNearTheReference) {
  const Shape& s = GetParam();
  expect_close(reference_conv2d_grad_x, cpu_conv2d_grad_x_onednn, grad_x_case(s), s.o / s.groups * s.kh * s.kw);
  expect_close(reference_conv2d_grad_w, cpu_conv2d_grad_w_onednn, grad_w_case(s), s.n * s.oh() * s.ow());
}

TEST_P(Conv, ActivationIsAppliedToTheSums) {
  KernelCase use = forward_case(GetParam());
  use.in[Conv2d::in::x].data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Tensor plain = run_kernel(cpu_conv2d_onednn, use, cpu_level())[0];
  use.op = "fused_conv2d";
  use.in.resize(4);  // no residual
  use.attributes["layout"] = std::string("channels_first");
  use.attributes["alpha"] = 0.125;
  for (const char* activation : {"relu", "relu6", "leaky_relu"}) {
    use.attributes["activation"] = std::string(activation);
    Tensor want = plain.clone();
    for (float& v : want.data<float>()) {
      if (activation == std::string("leaky_relu")) {
        v = v < 0 ? 0.125F * v : v;
      } else {
        v = v < 0 ? 0.0F : activation == std::string("relu6") && v > 6 ? 6.0F : v;
      }
    }
    EXPECT_TRUE(same_bits(want, run_every_way(cpu_fused_conv2d_onednn, use)[0])) << activation;
    EXPECT_TRUE(harness::close_to(want, run_kernel(reference_fused_conv2d, use, CpuLevel::scalar)[0], 1e-5))
        << activation;
  }
}

std::string name_of(const testing::TestParamInfo<Shape>& info) {
  std::string name = info.param.what;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv, testing::ValuesIn(kShapes), name_of);

ConvGeometry geometry_of(const Shape& s) {
  return {s.n,
          s.c,
          s.h,
          s.w,
          s.o,
          s.oh(),
          s.ow(),
          s.groups,
          s.kh,
          s.kw,
          {1, 1},
          {1, 1},
          {s.pad[0], s.pad[1], s.pad[2], s.pad[3]}};
}

TEST(ConvCut, CutsTheBatchFirst) {
  Shape s{"", 128, 16, 32, 32, 16, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  for (const auto pass : {ConvCut::Pass::forward, ConvCut::Pass::grad_x, ConvCut::Pass::grad_w}) {
    const ConvCut cut(pass, geometry_of(s));
    EXPECT_GE(cut.blocks(), 8);
    EXPECT_EQ(cut.parts(), 1);
    EXPECT_FALSE(cut.has_tail());
  }
  s.n = 37;
  EXPECT_TRUE(ConvCut(ConvCut::Pass::forward, geometry_of(s)).has_tail());
}

TEST(ConvCut, CutsTheChannelsOfOneImage) {
  const Shape dense{"", 1, 64, 16, 16, 64, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const Shape depthwise{"", 1, 256, 56, 56, 256, 3, 3, 256, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  for (const Shape& s : {dense, depthwise}) {
    for (const auto pass : {ConvCut::Pass::forward, ConvCut::Pass::grad_x, ConvCut::Pass::grad_w})
      EXPECT_GT(ConvCut(pass, geometry_of(s)).parts(), 1);
  }
}

TEST(ConvCut, PlacesCoverTheOutputOnce) {
  for (const Shape& s : kShapes) {
    const ConvGeometry g = geometry_of(s);
    const ConvCut cut(ConvCut::Pass::forward, g);
    std::vector<int> written(static_cast<size_t>(g.n * g.out_image()));
    for (int64_t piece = 0; piece < cut.pieces(); ++piece) {
      const ConvCut::Place place = cut.place(piece);
      for (int64_t image = 0; image < place.images; ++image) {
        for (int64_t i = 0; i < cut.part_out() * g.out_plane(); ++i) ++written[place.out + image * g.out_image() + i];
      }
    }
    EXPECT_EQ(std::count(written.begin(), written.end(), 1), static_cast<int64_t>(written.size())) << s.what;
  }
}

TEST(ConvReference, AgreesWithATableWorkedOutByHand) {
  const Shape s{"", 1, 1, 3, 3, 1, 2, 2, 1, {2, 1}, {1, 2}, {1, 0, 0, 1}};
  KernelCase use = forward_case(s);
  use.in = {f32_values({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), f32_values({1, 1, 2, 2}, {1, 10, 100, 1000}),
            f32_values({1}, {0.5F})};
  // Rows -1, 0 and 1, 2 of x, and columns (0, 2) and (1, 3). Row -1 and column 3 are padding.
  EXPECT_TRUE(same_bits(f32_values({1, 1, 2, 2}, {3100.5F, 200.5F, 9764.5F, 805.5F}),
                        run_kernel(reference_conv2d, use, CpuLevel::scalar)[0]));
}

TEST(ConvReference, GradientsAreThoseOfFiniteDifferences) {
  const std::vector<Shape> shapes = {{"", 2, 4, 5, 4, 6, 3, 2, 2, {2, 1}, {1, 2}, {1, 0, 2, 1}},
                                     {"", 2, 3, 4, 4, 3, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                     {"", 1, 2, 5, 5, 2, 2, 2, 1, {3, 3}}};
  for (const Shape& s : shapes) {
    const KernelCase forward = forward_case(s, DType::f64);
    const KernelCase grad_x = grad_x_case(s, DType::f64), grad_w = grad_w_case(s, DType::f64);
    expect_gradient(reference_conv2d, forward, Conv2d::in::x, grad_x.in[0],
                    run_kernel(reference_conv2d_grad_x, grad_x, CpuLevel::scalar)[0]);
    expect_gradient(reference_conv2d, forward, Conv2d::in::w, grad_w.in[1],
                    run_kernel(reference_conv2d_grad_w, grad_w, CpuLevel::scalar)[0]);
  }
}

TEST(ConvReference, PiecesMayRunInAnyOrder) {
  const Shape s{"", 3, 4, 5, 4, 6, 3, 2, 2, {2, 1}, {1, 2}, {1, 0, 2, 1}};
  run_every_way(reference_conv2d, forward_case(s), CpuLevel::scalar);
  run_every_way(reference_conv2d_grad_x, grad_x_case(s), CpuLevel::scalar);
  run_every_way(reference_conv2d_grad_w, grad_w_case(s), CpuLevel::scalar);
}

TEST(ConvReference, TakesAnEmptyBatch) {
  const Shape s{"", 0, 4, 5, 4, 6, 3, 2};
  EXPECT_EQ(run_kernel(reference_conv2d, forward_case(s), CpuLevel::scalar)[0].size(), 0);
  EXPECT_EQ(run_kernel(reference_conv2d_grad_x, grad_x_case(s), CpuLevel::scalar)[0].size(), 0);
  EXPECT_TRUE(same_bits(Tensor(DType::f32, s.w_dims()),
                        run_kernel(reference_conv2d_grad_w, grad_w_case(s), CpuLevel::scalar)[0]));
}

// A11.1
TEST(ConvRefusals, TheOrderOfTheReferenceIsTheReferences) {
  const KernelCase use = forward_case({"", 2, 4, 5, 4, 6, 3, 2});
  const harness::CaseProblem owner(use, cpu_level());
  Problem problem = owner.problem();
  problem.one_order = true;
  const Verdict verdict = cpu_conv2d_onednn.accept(problem);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.diagnostic(), errors::kernel_has_its_own_order());
}

TEST(ConvRefusals, SayWhy) {
  const Shape s{"", 2, 4, 5, 4, 6, 3, 2};
  EXPECT_EQ(refusal_of(cpu_conv2d_onednn, forward_case(s), CpuLevel::scalar),
            errors::kernel_is_for_other_levels("scalar", "avx2 or higher"));
  if (cpu_level() > CpuLevel::avx2) {
    EXPECT_EQ(refusal_of(cpu_conv2d_onednn, forward_case(s), CpuLevel::avx2).entry,
              &errors::kernel_is_for_other_levels_entry);
  }
  if (cpu_level() == CpuLevel::scalar) return;
  EXPECT_EQ(refusal_of(cpu_conv2d_onednn, forward_case(s, DType::f64), cpu_level()),
            errors::kernel_takes_other_types("an operand", "f64", "f32"));
  const Shape empty{"", 0, 4, 5, 4, 6, 3, 2};
  EXPECT_EQ(refusal_of(cpu_conv2d_onednn, forward_case(empty), cpu_level()),
            errors::kernel_takes_no_empty_operand("an operand"));
  KernelCase half = forward_case(s);
  for (Tensor& tensor : half.in) tensor = Tensor(DType::f16, tensor.dims());
  half.out[0]->dtype = DType::f16;
  EXPECT_EQ(refusal_of(cpu_conv2d_onednn, half, cpu_level()),
            errors::kernel_takes_other_types("an operand", "f16", "f32"));
  EXPECT_TRUE(verdict_of(reference_conv2d, half, CpuLevel::scalar));
}

}  // namespace
}  // namespace halfstep::kernels
