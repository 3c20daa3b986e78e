// PyTorch's quantizers: fast kernels against the references on unusual layouts and parameters, and the references
// against the written rule.
#include "halfstep/core/base/small_float.h"
#include "halfstep/engine/kernels/quantizers/torch/histogram.h"
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

const std::vector<float> kScales = {0.03F, 0.5F, 0.0078125F, 1e-3F};
const std::vector<float> kOddScales = {0.0F, -0.0F, -0.5F, kNan, kInfinity, 1e-45F, 1e-39F, FLT_MAX, 3.0F};

/// Layouts with channels, and rows of few and of many short runs.
std::vector<Layout> channel_layouts() {
  std::vector<Layout> all;
  for (const auto& list : {layouts(), large_layouts()}) {
    for (const Layout& layout : list) {
      if (layout.axis >= 0) all.push_back(layout);
    }
  }
  for (const Layout& more : std::initializer_list<Layout>{
           {{70, 5}, 1}, {{3, 1100}, 1}, {{40, 300, 2}, 1}, {{9000, 8, 9}, 1}, {{70, 3}, 0}, {{2, 700, 15}, 1}})
    all.push_back(more);
  return all;
}

template <class T>
Tensor converted(const Tensor& from, DType dtype) {
  Tensor to(dtype, from.dims());
  const auto src = from.data<float>();
  for (size_t i = 0; i < src.size(); ++i) {
    const T value(src[i]);
    std::memcpy(to.raw() + i * sizeof(T), &value, sizeof(T));
  }
  return to;
}

Tensor as_dtype(const Tensor& from, DType dtype) {
  switch (dtype) {
    case DType::f64: return converted<double>(from, dtype);
    case DType::f16: return converted<Half>(from, dtype);
    case DType::bf16: return converted<BFloat16>(from, dtype);
    default: return from;
  }
}

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

Attributes channel_attributes(int64_t axis, int64_t low = -128, int64_t high = 127) {
  return {{"axis", axis}, {"quant_min", low}, {"quant_max", high}, {"grad_factor", 0.37}};
}

/// Zero points of either kind, all legal.
Tensor zero_points(DType dtype, int64_t count) {
  if (dtype == DType::i32) return cyclic<int32_t>(dtype, {count}, {0, 3, -128, 127, -5});
  return as_dtype(cyclic<float>(DType::f32, {count}, {0.0F, 3.5F, -128.25F, 300.0F, -0.3F}), dtype);
}

struct Channelwise {
  const char* op;
  const Kernel *reference, *kernel;
  DType zero_point;
  bool backward;
};

const Channelwise kChannelwise[] = {
    {"fake_quantize_per_channel_affine", &reference_fake_quantize_per_channel_affine,
     &cpu_fake_quantize_per_channel_affine_simd, DType::i32, false},
    {"fake_quantize_per_channel_affine", &reference_fake_quantize_per_channel_affine,
     &cpu_fake_quantize_per_channel_affine_simd, DType::f32, false},
    {"fake_quantize_per_channel_affine", &reference_fake_quantize_per_channel_affine,
     &cpu_fake_quantize_per_channel_affine_simd, DType::f16, false},
    {"fake_quantize_per_channel_affine_grad", &reference_fake_quantize_per_channel_affine_grad,
     &cpu_fake_quantize_per_channel_affine_grad_simd, DType::i32, true},
    {"fake_quantize_per_channel_affine_grad", &reference_fake_quantize_per_channel_affine_grad,
     &cpu_fake_quantize_per_channel_affine_grad_simd, DType::f32, true},
    {"fake_quantize_learnable_per_channel_affine", &reference_fake_quantize_learnable_per_channel_affine,
     &cpu_fake_quantize_learnable_per_channel_affine_simd, DType::f32, false},
    {"fake_quantize_learnable_per_channel_affine_grad", &reference_fake_quantize_learnable_per_channel_affine_grad,
     &cpu_fake_quantize_learnable_per_channel_affine_grad_blocks, DType::f32, true},
};

KernelCase channel_case(const Channelwise& of, const Layout& layout, DType dtype, const std::vector<float>& scales) {
  const Tensor x = as_dtype(tie_tensor(layout.dims, 0.5F), dtype);
  const Dims channels = {layout.channels()};
  KernelCase use{of.op,
                 channel_attributes(layout.axis),
                 {x, cyclic<float>(DType::f32, channels, scales), zero_points(of.zero_point, layout.channels())},
                 {x.type()}};
  if (of.backward) use.in.push_back(as_dtype(tie_tensor(layout.dims, 1.0F, 99), dtype));
  if (use.op.ends_with("learnable_per_channel_affine_grad")) {
    use.out.push_back(Type{DType::f32, channels});
    use.out.push_back(Type{DType::f32, channels});
  }
  return use;
}

// A0.1
TEST(TorchChannels, LevelsAgreeOnEveryLayoutAndType) {
  for (const Channelwise& of : kChannelwise) {
    for (const Layout& layout : channel_layouts()) {
      for (const DType dtype : kFloats) {
        if (count_elements(layout.dims) > 100000 && dtype != DType::f32) continue;
        SCOPED_TRACE(std::string(of.op) + " " + std::string(name(dtype)) + to_string(layout.dims));
        expect_matches_reference(*of.reference, *of.kernel, channel_case(of, layout, dtype, kScales));
      }
    }
  }
}

// A0.1
TEST(TorchChannels, LevelsAgreeOnOddScales) {
  for (const Channelwise& of : kChannelwise) {
    for (const DType dtype : kFloats) {
      SCOPED_TRACE(std::string(of.op) + " " + std::string(name(dtype)));
      expect_matches_reference(*of.reference, *of.kernel, channel_case(of, {{45, 101}, 0}, dtype, kOddScales));
    }
  }
}

// A10.4
TEST(TorchChannels, AZeroPointOutsideTheRangeIsAnError) {
  KernelCase use = channel_case(kChannelwise[0], {{3, 7}, 0}, DType::f32, kScales);
  use.in[2] = cyclic<int32_t>(DType::i32, {3}, {0, 128, 0});
  std::vector<const Kernel*> kernels = {kChannelwise[0].reference, kChannelwise[0].kernel};
  for (const Kernel* kernel : cuda_kernels_on_host(use.op)) kernels.push_back(kernel);
  for (const Kernel* kernel : kernels) {
    EXPECT_EQ(failure_of(*kernel, use, CpuLevel::avx2),
              errors::zero_point_out_of_range("channel 1", 128, "quant_min to quant_max, -128 to 127"));
  }
}

KernelCase tensor_case(const Tensor& x, double scale, int64_t zero_point) {
  return {"fake_quantize_per_tensor_affine",
          {{"scale", scale}, {"zero_point", zero_point}, {"quant_min", int64_t{-8}}, {"quant_max", int64_t{7}}},
          {x},
          {x.type()}};
}

KernelCase tensor_grad_case(const Tensor& x, double scale, int64_t zero_point) {
  KernelCase use = tensor_case(x, scale, zero_point);
  use.op = "fake_quantize_per_tensor_affine_grad";
  use.in.push_back(as_dtype(tie_tensor(x.dims(), 1.0F, 99), x.dtype()));
  return use;
}

// A0.1
TEST(TorchTensor, LevelsAgree) {
  for (const auto& list : {layouts(), large_layouts()}) {
    for (const Layout& layout : list) {
      for (const DType dtype : kFloats) {
        SCOPED_TRACE(std::string(name(dtype)) + to_string(layout.dims));
        const Tensor x = as_dtype(tie_tensor(layout.dims, 0.5F), dtype);
        expect_matches_reference(reference_fake_quantize_per_tensor_affine, cpu_fake_quantize_per_tensor_affine_simd,
                                 tensor_case(x, 0.5, 3));
        expect_matches_reference(reference_fake_quantize_per_tensor_affine_grad,
                                 cpu_fake_quantize_per_tensor_affine_grad_simd, tensor_grad_case(x, 0.5, 3));
      }
    }
  }
  for (const float scale : kOddScales) {
    const Tensor x = tie_tensor({333}, 0.5F);
    expect_matches_reference(reference_fake_quantize_per_tensor_affine, cpu_fake_quantize_per_tensor_affine_simd,
                             tensor_case(x, scale, 0));
  }
}

/// A scale and a zero point as tensors of one element, and the learned per-tensor quantizer with its gradients.
// A0.1
TEST(TorchTensor, LevelsAgreeWithParametersInMemory) {
  const std::pair<const char*, const Kernel*> forward[] = {
      {"fake_quantize_per_tensor_affine_tensor_qparams", &cpu_fake_quantize_per_tensor_affine_tensor_qparams_simd},
      {"fake_quantize_learnable_per_tensor_affine", &cpu_fake_quantize_learnable_per_tensor_affine_simd}};
  const std::pair<const char*, const Kernel*> backward[] = {
      {"fake_quantize_per_tensor_affine_tensor_qparams_grad",
       &cpu_fake_quantize_per_tensor_affine_tensor_qparams_grad_simd},
      {"fake_quantize_learnable_per_tensor_affine_grad", &cpu_fake_quantize_learnable_per_tensor_affine_grad_blocks}};
  const Tensor scale = f32_tensor({1}, {0.5F}), zero_point = f32_tensor({1}, {-14.5F});
  for (const DType dtype : kFloats) {
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{4099}, Dims{3, 65541}}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(dims));
      const Tensor x = as_dtype(tie_tensor(dims, 0.5F), dtype);
      for (const auto& [op, kernel] : forward)
        expect_matches_reference(*reference_kernel(op), *kernel,
                                 {op, channel_attributes(-1), {x, scale, zero_point}, {x.type()}});
      for (const auto& [op, kernel] : backward) {
        KernelCase use{op, channel_attributes(-1), {x, scale, zero_point, x}, {x.type()}};
        if (use.op.starts_with("fake_quantize_learnable")) use.out.insert(use.out.end(), 2, scale.type());
        expect_matches_reference(*reference_kernel(op), *kernel, use);
      }
    }
  }
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

// A10.2, A10.3
TEST(TorchTensor, ReferenceFollowsTheWrittenRule) {
  const Tensor x = f32_tensor({9}, {0.25F, 0.75F, -0.25F, 2.25F, 99.0F, -99.0F, kNan, kInfinity, -kInfinity});
  const auto out = run_kernel(reference_fake_quantize_per_tensor_affine, tensor_case(x, 0.5, 3), CpuLevel::scalar);
  EXPECT_EQ(floats_of(out[0]), (std::vector<float>{0, 1, 0, 2, 2, -5.5F, -5.5F, 2, -5.5F}));
  KernelCase grad = tensor_grad_case(x, 0.5, 3);
  grad.in[1] = f32_tensor({9}, {1, 2, 3, 4, 5, -6, 7, 8, kNan});
  const auto dx = floats_of(run_kernel(reference_fake_quantize_per_tensor_affine_grad, grad, CpuLevel::scalar)[0]);
  EXPECT_EQ(std::vector<float>(dx.begin(), dx.begin() + 8), (std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_TRUE(std::signbit(dx[5])) << "a negative gradient times 0 is -0";
  EXPECT_TRUE(std::isnan(dx[8]));
}

// A10.2
TEST(TorchChannels, PositiveInfinityGivesTheLowestCode) {
  KernelCase use = channel_case(kChannelwise[0], {{1, 3}, 0}, DType::f32, {0.5F});
  use.in[0] = f32_tensor({1, 3}, {kInfinity, 3e30F, 1.0F});
  const auto out = run_kernel(reference_fake_quantize_per_channel_affine, use, CpuLevel::scalar);
  EXPECT_EQ(floats_of(out[0]), (std::vector<float>{-64, -64, 1}));
}

// A10.5
TEST(TorchLearnable, GradientsFollowTheWrittenRule) {
  const KernelCase use{"fake_quantize_learnable_per_tensor_affine_grad",
                       channel_attributes(-1),
                       {f32_tensor({4}, {62.25F, 1.1F, -99.0F, kInfinity}), Tensor::scalar(0.5F).reshaped({1}),
                        Tensor::scalar(3.0F).reshaped({1}), f32_tensor({4}, {1, 1, 1, 1})},
                       {Type{DType::f32, {4}}, Type{DType::f32, {1}}, Type{DType::f32, {1}}}};
  const auto out = run_kernel(reference_fake_quantize_learnable_per_tensor_affine_grad, use, CpuLevel::scalar);
  EXPECT_EQ(floats_of(out[0]), (std::vector<float>{0, 1, 0, 0})) << "62.25 is code 128 backward";
  const float inside = std::fma(2.0F, 0.5F, -1.1F) * 2.0F * 0.37F;
  const double sum = double{124.0F * 0.37F} + inside + -131.0F * 0.37F + -131.0F * 0.37F;
  EXPECT_EQ(floats_of(out[1])[0], static_cast<float>(sum));
  EXPECT_EQ(floats_of(out[2])[0], static_cast<float>(3.0 * double{-0.5F * 0.37F}));
}

KernelCase code_case(const char* op, DType code_type, const Tensor& x, Tensor scale, Tensor zero_point, int64_t axis) {
  return {op,
          {{"axis", axis}, {"code_type", std::string(name(code_type))}},
          {x, std::move(scale), std::move(zero_point)},
          {Type{code_type, x.dims()}}};
}

constexpr DType kCodes[] = {DType::u8, DType::i8, DType::i32};

// A0.1
TEST(TorchCodes, LevelsAgreeByChannel) {
  for (const Layout& layout : channel_layouts()) {
    const Tensor x = tie_tensor(layout.dims, 0.5F);
    const int64_t count = layout.channels();
    for (const DType code : kCodes) {
      SCOPED_TRACE(std::string(name(code)) + to_string(layout.dims));
      for (const auto& scales : {kScales, kOddScales}) {
        const Tensor scale = cyclic<float>(DType::f32, {count}, scales);
        const Tensor whole = cyclic<int64_t>(DType::i64, {count}, {0, 3, 127, 5});
        const Tensor real = cyclic<float>(DType::f32, {count}, {0.5F, 3.25F, -300.0F});
        for (const Tensor& zero : {whole, real}) {
          expect_matches_reference(reference_quantize_per_channel, cpu_quantize_per_channel_simd,
                                   code_case("quantize_per_channel", code, x, scale, zero, layout.axis));
          KernelCase back = code_case("dequantize_per_channel", code, x, scale, zero, layout.axis);
          back.in[0] = Tensor(code, layout.dims);
          Random random(3, 5);
          for (size_t i = 0; i < back.in[0].bytes(); ++i) back.in[0].raw()[i] = static_cast<std::byte>(random.bits());
          back.out = {x.type()};
          expect_matches_reference(reference_dequantize_per_channel, cpu_dequantize_per_channel_simd, back);
        }
      }
    }
  }
}

// A0.1
TEST(TorchCodes, LevelsAgreeByTensor) {
  for (const float scale : {0.03F, 0.5F, 0.0F, -0.5F, kNan, 1e-9F}) {
    for (const DType code : kCodes) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const Tensor x = as_dtype(tie_tensor({777}, 0.5F), dtype);
        const Attributes attributes = {
            {"scale", double{scale}}, {"zero_point", int64_t{3}}, {"code_type", std::string(name(code))}};
        expect_matches_reference(reference_quantize_per_tensor, cpu_quantize_per_tensor_simd,
                                 {"quantize_per_tensor", attributes, {x}, {Type{code, x.dims()}}});
      }
      for (const int64_t zero : {int64_t{-5}, int64_t{INT32_MIN}, int64_t{INT32_MAX}}) {
        const Tensor codes = cyclic<int32_t>(DType::i32, {99}, {INT32_MIN, INT32_MAX, 0, -7, 16777217});
        expect_matches_reference(reference_dequantize_per_tensor, cpu_dequantize_per_tensor_simd,
                                 {"dequantize_per_tensor",
                                  {{"scale", double{scale}}, {"zero_point", zero}},
                                  {codes},
                                  {Type{DType::f32, {99}}}});
      }
    }
  }
}

// A10.10
TEST(TorchCodes, TheSumWithTheZeroPointWrapsAround) {
  const auto codes = [](float x, int64_t zero_point) {
    const KernelCase use{"quantize_per_tensor",
                         {{"scale", 0.1}, {"zero_point", zero_point}, {"code_type", std::string("i8")}},
                         {f32_tensor({1}, {x})},
                         {Type{DType::i8, {1}}}};
    return run_kernel(reference_quantize_per_tensor, use, CpuLevel::scalar)[0].data<int8_t>()[0];
  };
  EXPECT_EQ(codes(kNan, 3), 127);
  EXPECT_EQ(codes(-kInfinity, 3), -128);
  EXPECT_EQ(codes(-kInfinity, -3), 127);
}

KernelCase fused_case(const Layout& layout, DType dtype, bool observes, bool quantizes, const Tensor& x) {
  const Dims channels = layout.axis < 0 ? Dims{} : Dims{layout.channels()};
  const Dims scales = {layout.channels()};
  return {"fused_moving_avg_obs_fake_quant",
          {{"observer_on", observes},
           {"fake_quant_on", quantizes},
           {"averaging_const", 0.1},
           {"quant_min", int64_t{-128}},
           {"quant_max", int64_t{127}},
           {"ch_axis", layout.axis},
           {"per_row_fake_quant", layout.axis >= 0},
           {"symmetric_quant", dtype == DType::f32}},
          {as_dtype(x, dtype), cyclic<float>(DType::f32, channels, {kInfinity, -1.0F}),
           cyclic<float>(DType::f32, channels, {-kInfinity, 2.0F}), cyclic<float>(DType::f32, scales, {0.1F}),
           cyclic<int32_t>(DType::i32, scales, {3})},
          {Type{dtype, layout.dims}, Type{DType::f32, channels}, Type{DType::f32, channels}, Type{DType::f32, scales},
           Type{DType::i32, scales}},
          {},
          {{1, 1}, {2, 2}, {3, 3}, {4, 4}}};
}

/// Finite values, and special values with `odd`.
Tensor observed(const Dims& dims, bool odd) {
  std::vector<float> values = tie_values(count_elements(dims), 0.5F, 3);
  for (float& v : values) {
    if (!odd && !(std::fabs(v) < 1e30F)) v = 0.125F;
  }
  return f32_tensor(dims, values);
}

// A0.1
TEST(TorchFused, LevelsAgree) {
  std::vector<Layout> all = channel_layouts();
  for (const Layout& layout : layouts()) all.push_back({layout.dims, -1});
  all.push_back({{65537}, -1});
  all.push_back({{300, 400}, 0});
  for (const Layout& layout : all) {
    for (const DType dtype : kFloats) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(layout.dims));
      for (const auto& [observes, quantizes] : {std::pair(true, true), {true, false}, {false, true}}) {
        for (const bool odd : {false, true})
          expect_matches_reference(reference_fused_moving_avg_obs_fake_quant, cpu_fused_moving_avg_obs_fake_quant_simd,
                                   fused_case(layout, dtype, observes, quantizes, observed(layout.dims, odd)));
      }
    }
  }
}

KernelCase observer_case(const Layout& layout, DType dtype, const Tensor& x) {
  const Dims channels = {layout.channels()};
  return {
      "moving_average_per_channel_min_max_observer",
      {{"ch_axis", layout.axis},
       {"averaging_constant", 0.1},
       {"dtype", std::string("quint8")},
       {"qscheme", std::string("per_channel_affine")},
       {"quant_min", int64_t{0}},
       {"quant_max", int64_t{255}},
       {"eps", 1.1920928955078125e-07},
       {"zero_point_type", std::string("i32")}},
      {as_dtype(x, dtype), cyclic<float>(DType::f32, channels, {kInfinity, -1.0F, kNan}),
       cyclic<float>(DType::f32, channels, {-kInfinity, 2.0F, 1.0F})},
      {Type{DType::f32, channels}, Type{DType::f32, channels}, Type{DType::f32, channels}, Type{DType::i32, channels}},
      {},
      {{0, 1}, {1, 2}}};
}

// A0.1
TEST(TorchObservers, LevelsAgree) {
  for (const Layout& layout : channel_layouts()) {
    for (const DType dtype : kFloats) {
      for (const bool odd : {false, true}) {
        SCOPED_TRACE(std::string(name(dtype)) + to_string(layout.dims));
        KernelCase use = observer_case(layout, dtype, observed(layout.dims, odd));
        expect_matches_reference(reference_moving_average_per_channel_min_max_observer,
                                 cpu_moving_average_per_channel_min_max_observer_blocks, use);
        use.op = "per_channel_min_max_observer";
        expect_matches_reference(reference_per_channel_min_max_observer, cpu_per_channel_min_max_observer_blocks, use);
      }
    }
  }
}

// A0.1
TEST(TorchObservers, LevelsAgreeByTensor) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{4099}, Dims{3, 65541}}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(dims));
      for (const bool odd : {false, true}) {
        KernelCase use = observer_case({dims, -1}, dtype, observed(dims, odd));
        use.attributes["qscheme"] = std::string("per_tensor_symmetric");
        for (const bool moving : {false, true}) {
          use.op = moving ? "moving_average_min_max_observer" : "min_max_observer";
          expect_matches_reference(*reference_kernel(use.op),
                                   moving ? cpu_moving_average_min_max_observer_blocks : cpu_min_max_observer_blocks,
                                   use);
        }
      }
    }
  }
}

// A10.9
TEST(TorchHistogram, MovesEachBinInSixteenParts) {
  const std::vector<float> counts = {16, 32};
  std::vector<float> moved(4, 0.0F);
  torch::move_counts(counts, {0.0F, 2.0F}, {0.0F, 2.0F}, std::span(moved).first(2));
  EXPECT_EQ(std::vector<float>(moved.begin(), moved.begin() + 2), counts);
  const std::vector<float> wide = {16, 32, 0, 0};
  std::ranges::fill(moved, 0.0F);
  torch::move_counts(wide, {0.0F, 4.0F}, {-2.0F, 6.0F}, moved);
  EXPECT_EQ(moved, (std::vector<float>{0, 48, 0, 0}));
  std::ranges::fill(moved, 0.0F);
  torch::move_counts(wide, {1.0F, 1.0F}, {0.0F, 4.0F}, moved);
  EXPECT_EQ(moved, (std::vector<float>{0, 48, 0, 0})) << "a range of one value lies in one bin";
}

// A10.9
TEST(TorchHistogram, ANanIsAnError) {
  KernelCase use = observer_case({{4}, -1}, DType::f32, f32_tensor({4}, {1, kNan, 2, 3}));
  use.op = "histogram_observer";
  use.attributes["qscheme"] = std::string("per_tensor_symmetric");
  use.attributes["bins"] = int64_t{8};
  use.in.emplace_back(DType::f32, Dims{8});
  use.out.insert(use.out.begin() + 2, Type{DType::f32, {8}});
  EXPECT_EQ(failure_of(reference_histogram_observer, use, CpuLevel::scalar).entry,
            &errors::observed_range_not_finite_entry);
}

// A10.9
TEST(TorchHistogram, TheLastBinIsClosed) {
  EXPECT_EQ(torch::bin_of(0.0F, {0.0F, 4.0F}, 4), 0);
  EXPECT_EQ(torch::bin_of(3.999F, {0.0F, 4.0F}, 4), 3);
  EXPECT_EQ(torch::bin_of(4.0F, {0.0F, 4.0F}, 4), 3);
  EXPECT_EQ(torch::bin_of(1.0F, {1.0F, 1.0F}, 4), 2) << "one value lies in the middle of a range of width 2";
}

// A10.9
TEST(TorchHistogram, ARareOutlierIsCutOff) {
  std::vector<float> counts(256, 0.0F);
  for (size_t i = 0; i < 100; ++i) counts[i] = 1e6F;
  counts[255] = 1.0F;
  std::vector<float> cumulative(256);
  const torch::Extremes best = torch::best_range(counts, {0.0F, 256.0F}, cumulative);
  EXPECT_EQ(best.low, 0.0F);
  EXPECT_LT(best.high, 256.0F);
}

}  // namespace
}  // namespace halfstep::kernels
