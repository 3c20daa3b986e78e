// fake_quantize_scale_grad: the LSQ rule, summed in one order at every level.
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

KernelCase scale_grad(const QuantizerAttributes& attributes, int64_t axis, Tensor x, Tensor scale, Tensor zero_point,
                      Tensor out_grad) {
  const Type type = scale.type();
  return {"fake_quantize_scale_grad",
          attributes.on_axis(axis),
          {std::move(x), std::move(scale), std::move(zero_point), std::move(out_grad)},
          {type}};
}

Tensor normal_tensor(const Dims& dims, float deviation, uint64_t stream) {
  Tensor tensor(DType::f32, dims);
  Random random(11, stream);
  for (float& v : tensor.data<float>()) v = deviation * random.normal();
  return tensor;
}

float reference_value(const KernelCase& use) {
  return run_kernel(reference_fake_quantize_scale_grad, use, CpuLevel::scalar)[0].data<float>()[0];
}

// round(1.3) - 1.3 inside, the limits minus the zero point outside. NaN adds nothing.
// A2.5
TEST(ScaleGrad, ReferenceFollowsTheLsqRule) {
  const auto one = [](float x, float out_grad) {
    return reference_value(scale_grad({0, 7, "half_even", "divide", "u8", 0.5}, -1, Tensor::scalar(x),
                                      Tensor::scalar(2.0F), Tensor::scalar(int32_t{3}), Tensor::scalar(out_grad)));
  };
  EXPECT_FLOAT_EQ(one(2.6F, 10.0F), static_cast<float>(0.5 * 10.0 * (1.0 - static_cast<double>(2.6F / 2.0F))));
  EXPECT_EQ(one(100.0F, 10.0F), 0.5F * 10.0F * 4.0F);
  EXPECT_EQ(one(-100.0F, 10.0F), 0.5F * 10.0F * -3.0F);
  EXPECT_EQ(one(kInfinity, 10.0F), 20.0F);
  EXPECT_EQ(one(kNan, kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(one(2.6F, kNan)));
}

// A2.5
TEST(ScaleGrad, AgreesWithTheSlopeOfTheLoss) {
  const Dims dims = {40000};
  const Tensor x = normal_tensor(dims, 1.0F, 0);
  const Tensor out_grad = normal_tensor(dims, 1.0F, 1);
  double want = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    const double steps = static_cast<double>(x.data<float>()[i]) / 0.25;
    const double code = std::clamp(std::nearbyint(steps), -4.0, 3.0);
    const bool inside = code == std::nearbyint(steps);
    want += static_cast<double>(out_grad.data<float>()[i]) * (inside ? code - steps : code);
  }
  const float got =
      reference_value(scale_grad({-4, 3}, -1, x, Tensor::scalar(0.25F), Tensor::scalar(int32_t{0}), out_grad));
  EXPECT_NEAR(got, want, 1e-6 * std::fabs(want));
}

void expect_levels_agree(const QuantizerAttributes& attributes, const Layout& layout, uint64_t stream) {
  SCOPED_TRACE(to_string(layout.dims) + " axis " + std::to_string(layout.axis) + " " + attributes.rounding + " " +
               attributes.method);
  const Dims channels = {layout.channels()};
  const Tensor scale = cyclic<float>(DType::f32, channels, {0.03F, 0.5F, 0.11F});
  const Tensor zero_point = cyclic<int32_t>(DType::i32, channels, {0, -2, 5});
  const Tensor out_grad = normal_tensor(layout.dims, 1e-3F, stream);
  for (const Tensor& x : {normal_tensor(layout.dims, 0.4F, stream + 1), tie_tensor(layout.dims, 0.5F, stream)}) {
    expect_matches_reference(reference_fake_quantize_scale_grad, cpu_fake_quantize_scale_grad_chunks,
                             scale_grad(attributes, layout.axis, x, scale, zero_point, out_grad));
  }
}

// Sums depend on the order of their terms, so equal bits prove a single order at all levels and for any order of
// pieces.
// A0.1, A2.5
TEST(ScaleGrad, EveryLevelGivesTheBitsOfTheReference) {
  uint64_t stream = 0;
  for (const auto& attributes : rounding_methods(-8, 7)) {
    for (const Layout& layout : layouts()) expect_levels_agree(attributes, layout, stream += 2);
  }
  for (const Layout& layout : large_layouts()) expect_levels_agree({-8, 7}, layout, stream += 2);
}

// A0.1
TEST(ScaleGrad, OddParametersGiveTheBitsOfTheReference) {
  const std::vector<float> scales = {0.0F, -0.5F, kNan, kInfinity, 1e-45F, FLT_MAX, 3.0F};
  const std::vector<int32_t> zero_points = {0, INT32_MIN, INT32_MAX, 16777217, -40};
  for (const auto& attributes : rounding_methods(-32768, 65535)) {
    expect_matches_reference(reference_fake_quantize_scale_grad, cpu_fake_quantize_scale_grad_chunks,
                             scale_grad(attributes, 0, tie_tensor({35, 203}, 0.5F), cyclic(DType::f32, {35}, scales),
                                        cyclic(DType::i32, {35}, zero_points), tie_tensor({35, 203}, 1.0F, 5)));
  }
}

}  // namespace
}  // namespace halfstep::kernels
