// Paddle's fake-quantize operators: the levels against the reference; paddle_golden_test.cpp holds the reference
// against Paddle itself.
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

struct Form {
  int64_t bit_length;
  int64_t round_type;
};
const std::vector<Form> kForms = {{8, 0}, {8, 1}, {1, 0}, {1, 1}, {4, 0}, {4, 1}, {16, 0}, {16, 1}};

KernelCase moving_average(const Form& form, bool is_test, const Tensor& x, float scale) {
  KernelCase use{
      "fake_quantize_dequantize_moving_average_abs_max",
      {{"bit_length", form.bit_length}, {"round_type", form.round_type}, {"is_test", is_test}, {"moving_rate", 0.9}},
      {x, Tensor::scalar(scale)},
      {x.type()}};
  for (int i = 0; i < 2; ++i) use.in.push_back(is_test ? Tensor() : Tensor::scalar(1.5F + static_cast<float>(i)));
  for (int i = 0; i < 3; ++i) use.out.push_back(is_test ? std::nullopt : std::optional(Type{DType::f32, {1}}));
  return use;
}

KernelCase channel_wise(const Form& form, int64_t axis, const Tensor& x) {
  return {"fake_channel_wise_quantize_dequantize_abs_max",
          {{"bit_length", form.bit_length}, {"round_type", form.round_type}, {"quant_axis", axis}},
          {x},
          {x.type(), Type{DType::f32, {x.dims()[axis]}}}};
}

void expect_average_agrees(const KernelCase& use) {
  expect_matches_reference(reference_fake_quantize_dequantize_moving_average_abs_max,
                           cpu_fake_quantize_dequantize_moving_average_abs_max_simd, use);
}

void expect_channels_agree(const Form& form, const Layout& layout, Tensor x) {
  SCOPED_TRACE(to_string(layout.dims) + " axis " + std::to_string(layout.axis));
  expect_matches_reference(reference_fake_channel_wise_quantize_dequantize_abs_max,
                           cpu_fake_channel_wise_quantize_dequantize_abs_max_simd, channel_wise(form, layout.axis, x));
  if (x.size() == 0) return;
  x.data<float>()[0] = kNan;
  expect_matches_reference(reference_fake_channel_wise_quantize_dequantize_abs_max,
                           cpu_fake_channel_wise_quantize_dequantize_abs_max_simd, channel_wise(form, layout.axis, x));
}

TEST(PaddleMovingAverage, EveryLevelGivesTheBitsOfTheReference) {
  for (const Form& form : kForms) {
    for (const int64_t size : {1, 7, 8, 16, 17, 33, 300}) {
      for (const float scale : {64.0F, 0.37F, 0.0F, -1.0F, 1e-30F, 1e-45F, kInfinity, kNan})
        expect_average_agrees(moving_average(form, true, tie_tensor({size}, 0.5F), scale));
      Tensor x = tie_tensor({size}, 0.5F, 1);
      expect_average_agrees(moving_average(form, false, x, 1.0F));
      x.data<float>()[0] = kNan;
      expect_average_agrees(moving_average(form, false, x, 1.0F));
    }
  }
  expect_average_agrees(moving_average(kForms[0], false, tie_tensor({2, 65539}, 1e-30F), 1.0F));
  expect_average_agrees(moving_average(kForms[1], true, tie_tensor({0, 3}, 0.5F), 1.0F));
}

// Normal values, so that the scale is one too and each code is decided.
TEST(PaddleMovingAverage, TrainingOnPlainNumbers) {
  for (const Form& form : kForms) {
    Tensor x(DType::f32, {5, 211});
    Random random(2, static_cast<uint64_t>(form.bit_length));
    for (float& v : x.data<float>()) v = random.normal();
    KernelCase use = moving_average(form, false, x, 1.0F);
    expect_average_agrees(use);
    use.in_place = {{1, 1}, {2, 3}, {3, 2}};
    expect_average_agrees(use);
  }
}

TEST(PaddleChannelWise, EveryLevelGivesTheBitsOfTheReference) {
  std::vector<Layout> all = large_layouts();
  for (const Layout& layout : layouts()) all.push_back(layout);
  for (const Layout& columns : {Layout{{9, 33}, 1}, Layout{{4099, 17}, 1}, Layout{{1, 5}, 1}, Layout{{3, 1}, 1}})
    all.push_back(columns);
  for (const Form& form : kForms) {
    for (const Layout& layout : all) {
      if (layout.axis < 0 || (count_elements(layout.dims) > 10000 && form.bit_length != 8)) continue;
      expect_channels_agree(form, layout, tie_tensor(layout.dims, 0.5F));
      Tensor x(DType::f32, layout.dims);
      Random random(4, 0);
      for (float& v : x.data<float>()) v = random.normal();
      expect_channels_agree(form, layout, x);
    }
  }
}

TEST(PaddleChannelWise, ShortRunsAreRefused) {
  EXPECT_EQ(verdict_of(cpu_fake_channel_wise_quantize_dequantize_abs_max_simd,
                       channel_wise(kForms[0], 1, Tensor(DType::f32, {5, 4, 3})), CpuLevel::avx2)
                .reason(),
            "a channel's run of 3 elements is shorter than 4");
}

}  // namespace
}  // namespace halfstep::kernels
