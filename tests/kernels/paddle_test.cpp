// Paddle's operators: every level against the reference, for element types, axes, lengths of runs and special values.
// `halfstep op golden` compares the selected kernels with Paddle itself.
#include "halfstep/engine/kernels/common/float_types.h"
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

const std::vector<DType> kTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};

struct Form {
  int64_t bit_length;
  int64_t round_type;
};
const std::vector<Form> kForms = {{8, 0}, {8, 1}, {1, 0}, {1, 1}, {4, 0}, {4, 1}, {16, 0}, {16, 1}};

/// The numbers of an f32 tensor as another type.
Tensor as_type(DType dtype, const Tensor& tensor) {
  if (dtype == DType::f32) return tensor;
  Tensor result(dtype, tensor.dims());
  with_any_float(dtype, [&]<class T>() {
    for (int64_t i = 0; i < tensor.size(); ++i)
      reinterpret_cast<T*>(result.raw())[i] = T(static_cast<Compute<T>>(tensor.data<float>()[i]));
  });
  return result;
}

Tensor number(DType dtype, float value) { return as_type(dtype, Tensor::scalar(value)); }

Tensor normal_tensor(const Dims& dims, uint64_t stream = 0) {
  Tensor x(DType::f32, dims);
  Random random(4, stream);
  for (float& v : x.data<float>()) v = random.normal();
  return x;
}

/// Positive numbers of every size, zero, and invalid scales.
Tensor scale_tensor(DType dtype, int64_t count) {
  const std::vector<float> values = {0.37F, 1.0F, 0.0F, 64.0F, 1e-30F, 1e-45F, kInfinity, kNan, -1.0F, 127.0F};
  return as_type(dtype, cyclic(DType::f32, {count}, values));
}

Attributes form_attributes(const Form& form, Attributes more = {}) {
  more.insert({{"bit_length", form.bit_length}, {"round_type", form.round_type}});
  return more;
}

struct Kernels {
  const char* op;
  const Kernel &reference, &simd;
};

#define HS_PADDLE(op) \
  { #op, reference_##op, cpu_##op##_simd }
const Kernels kAbsMax[] = {HS_PADDLE(fake_quantize_abs_max), HS_PADDLE(fake_quantize_dequantize_abs_max)};
const Kernels kChannelWise[] = {HS_PADDLE(fake_channel_wise_quantize_abs_max),
                                HS_PADDLE(fake_channel_wise_quantize_dequantize_abs_max)};
const Kernels kAverage[] = {HS_PADDLE(fake_quantize_moving_average_abs_max),
                            HS_PADDLE(fake_quantize_dequantize_moving_average_abs_max)};
const Kernels kRange = HS_PADDLE(fake_quantize_range_abs_max);
const Kernels kScale = HS_PADDLE(moving_average_abs_max_scale);
const Kernels kStraight = HS_PADDLE(straight_through_estimator_grad);
const Kernels kQuantize = HS_PADDLE(quantize_linear);
const Kernels kDequantize = HS_PADDLE(dequantize_linear);
const Kernels kDequantizeMaxAbs = HS_PADDLE(fake_dequantize_max_abs);
const Kernels kDequantizeChannels = HS_PADDLE(fake_channel_wise_dequantize_max_abs);
#undef HS_PADDLE

void expect_agrees(const Kernels& kernels, const KernelCase& use) {
  expect_matches_reference(kernels.reference, kernels.simd, use);
}

KernelCase abs_max(const Kernels& kernels, const Form& form, const Tensor& x) {
  return {kernels.op, form_attributes(form), {x}, {x.type(), Type{x.dtype(), {1}}}};
}

KernelCase channel_wise(const Kernels& kernels, const Form& form, int64_t axis, const Tensor& x) {
  const bool has_test = &kernels == &kChannelWise[0];
  KernelCase use = abs_max(kernels, form, x);
  use.attributes.insert({{"quant_axis", axis}});
  use.out[1] = Type{x.dtype(), {x.dims()[axis]}};
  if (!has_test) return use;
  use.attributes.insert({{"is_test", false}});
  use.in.emplace_back();
  return use;
}

KernelCase channel_wise_test(const Form& form, int64_t axis, const Tensor& x) {
  KernelCase use = channel_wise(kChannelWise[0], form, axis, x);
  use.attributes.insert_or_assign("is_test", true);
  use.in[1] = scale_tensor(x.dtype(), x.dims()[axis]);
  use.out[1] = std::nullopt;
  return use;
}

KernelCase moving_average(const Kernels& kernels, const Form& form, bool is_test, const Tensor& x, float scale) {
  const DType dtype = x.dtype();
  KernelCase use{kernels.op,
                 form_attributes(form, {{"is_test", is_test}, {"moving_rate", 0.9}}),
                 {x, number(dtype, scale)},
                 {x.type()}};
  for (int i = 0; i < 2; ++i) use.in.push_back(is_test ? Tensor() : number(dtype, 1.5F + static_cast<float>(i)));
  for (int i = 0; i < 3; ++i) use.out.push_back(is_test ? std::nullopt : std::optional(Type{dtype, {1}}));
  return use;
}

KernelCase range(const Form& form, int64_t iter, const Tensor& window, float scale, const Tensor& x) {
  Tensor step(DType::i64, {1});
  step.data<int64_t>()[0] = iter;
  return {kRange.op,
          form_attributes(form, {{"is_test", false}, {"window_size", window.size()}}),
          {x, number(x.dtype(), scale), step, as_type(x.dtype(), window)},
          {x.type(), Type{x.dtype(), {1}}, Type{x.dtype(), window.dims()}}};
}

/// Runs of every length, one channel and many, with and without rows above the channels.
std::vector<Layout> run_layouts() {
  std::vector<Layout> all;
  for (const int64_t run : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65}) {
    for (const int64_t count : {1, 3, 17}) {
      all.push_back({{count, run}, 0});
      all.push_back({{5, count, run}, 1});
      all.push_back({{1, count, run}, 1});
    }
  }
  for (const Layout& layout : layouts()) {
    if (layout.axis >= 0 && count_elements(layout.dims) > 0) all.push_back(layout);
  }
  return all;
}

/// Several pieces, strips and blocks of rows, and many channels of short runs.
std::vector<Layout> many_channels() {
  return {{{4099, 17}, 1}, {{70, 2100}, 1}, {{40, 3, 700, 1}, 1}, {{9, 7000, 3}, 1},  {{70000}, 0},
          {{30000, 3}, 0}, {{3, 65537}, 0}, {{2, 2, 65539}, 1},   {{300, 17, 31}, 1}, {{2, 5000, 9}, 1}};
}

/// Contents as f32: first with ties and special values, then with NaN at the start, then plain numbers, so that each
/// code is decided.
std::vector<Tensor> contents(const Dims& dims) {
  std::vector<Tensor> all = {tie_tensor(dims, 0.5F), tie_tensor(dims, 0.5F), normal_tensor(dims)};
  all[1].data<float>()[0] = kNan;
  return all;
}

// A0.1
TEST(PaddleAbsMax, EveryLevelGivesTheBitsOfTheReference) {
  for (const Kernels& kernels : kAbsMax) {
    for (const DType dtype : kTypes) {
      for (const Form& form : kForms) {
        for (const int64_t size : {1, 7, 16, 17, 33, 300}) {
          for (const Tensor& x : contents({size})) expect_agrees(kernels, abs_max(kernels, form, as_type(dtype, x)));
        }
      }
      expect_agrees(kernels, abs_max(kernels, kForms[1], as_type(dtype, normal_tensor({2, 65539}))));
    }
    expect_agrees(kernels, abs_max(kernels, kForms[0], normal_tensor({2200000})));  // stored past the caches
  }
}

// A0.1
TEST(PaddleAverage, EveryLevelGivesTheBitsOfTheReference) {
  for (const Kernels& kernels : kAverage) {
    for (const DType dtype : kTypes) {
      for (const Form& form : kForms) {
        for (const int64_t size : {1, 17, 300}) {
          for (const float scale : {64.0F, 0.37F, 0.0F, -1.0F, 1e-30F, 1e-45F, kInfinity, kNan})
            expect_agrees(kernels,
                          moving_average(kernels, form, true, as_type(dtype, tie_tensor({size}, 0.5F)), scale));
          for (const Tensor& x : contents({size}))
            expect_agrees(kernels, moving_average(kernels, form, false, as_type(dtype, x), 1.0F));
        }
      }
      KernelCase large = moving_average(kernels, kForms[1], false, as_type(dtype, normal_tensor({2, 65539})), 1.0F);
      large.in_place = {{1, 1}, {2, 3}, {3, 2}};
      expect_agrees(kernels, large);
      expect_agrees(kernels, moving_average(kernels, kForms[1], true, as_type(dtype, tie_tensor({0, 3}, 0.5F)), 1.0F));
    }
  }
}

// A0.1
TEST(PaddleRange, EveryLevelGivesTheBitsOfTheReference) {
  const std::vector<float> magnitudes = {3.0F, 0.5F, 7.0F, 2.0F, 1.0F};
  for (const DType dtype : kTypes) {
    for (const int64_t window : {1, 3, 100}) {
      for (const int64_t iter : {0, 1, 2, 3, 4, 100, 101, 202}) {
        for (const float scale : {0.0F, 3.0F, 7.0F, 1000.0F, kNan}) {
          for (const int64_t size : {33, 65537}) {
            if (size > 100 && scale != 3.0F) continue;
            KernelCase use =
                range(kForms[static_cast<size_t>(iter % 4)], iter, cyclic(DType::f32, {window}, magnitudes), scale,
                      as_type(dtype, normal_tensor({size})));
            if (iter % 2 == 0) use.in_place = {{1, 1}, {2, 3}};
            expect_agrees(kRange, use);
          }
        }
      }
    }
  }
}

// A8.6
TEST(PaddleRange, AStepBeforeTheFirstIsAnError) {
  const KernelCase use = range(kForms[0], -1, normal_tensor({3}), 1.0F, normal_tensor({4}));
  EXPECT_EQ(failure_of(kRange.reference, use, CpuLevel::scalar), errors::quantizer_step_negative(-1));
}

// A0.1
TEST(PaddleChannelWise, EveryLevelGivesTheBitsOfTheReference) {
  for (const Layout& layout : run_layouts()) {
    SCOPED_TRACE(to_string(layout.dims) + " axis " + std::to_string(layout.axis));
    const Form& form = kForms[static_cast<size_t>(layout.dims.back()) % kForms.size()];
    for (const DType dtype : kTypes) {
      for (const Tensor& x : contents(layout.dims)) {
        for (const Kernels& kernels : kChannelWise)
          expect_agrees(kernels, channel_wise(kernels, form, layout.axis, as_type(dtype, x)));
      }
      expect_agrees(kChannelWise[0], channel_wise_test(form, layout.axis, as_type(dtype, normal_tensor(layout.dims))));
    }
  }
}

// A0.1
TEST(PaddleChannelWise, ManyChannelsAndPieces) {
  for (const Layout& layout : many_channels()) {
    SCOPED_TRACE(to_string(layout.dims) + " axis " + std::to_string(layout.axis));
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const Tensor& x : contents(layout.dims))
        expect_agrees(kChannelWise[1], channel_wise(kChannelWise[1], kForms[1], layout.axis, as_type(dtype, x)));
      expect_agrees(kChannelWise[0],
                    channel_wise_test(kForms[0], layout.axis, as_type(dtype, normal_tensor(layout.dims))));
    }
  }
}

// A0.1
TEST(PaddleChannelWise, EveryFormDecidesItsTies) {
  for (const Form& form : kForms) {
    for (const Layout& layout : {Layout{{7, 40}, 0}, Layout{{7, 40}, 1}, Layout{{3, 5, 70}, 1}}) {
      for (const DType dtype : kTypes) {
        for (const Kernels& kernels : kChannelWise)
          expect_agrees(kernels,
                        channel_wise(kernels, form, layout.axis, as_type(dtype, tie_tensor(layout.dims, 0.5F, 2))));
        expect_agrees(kChannelWise[0],
                      channel_wise_test(form, layout.axis, as_type(dtype, tie_tensor(layout.dims, 0.5F, 3))));
      }
    }
  }
}

// A8.5
TEST(PaddleScale, TheValueIsCopiedAndItsMagnitudeAveraged) {
  for (const DType dtype : kTypes) {
    for (const int64_t size : {1, 33, 65536, 65537, 2200000}) {
      if (size > 100000 && dtype != DType::f32) continue;
      for (const bool is_test : {false, true}) {
        const Tensor x = as_type(dtype, tie_tensor({size}, 0.5F));
        const std::optional<Type> state = is_test ? std::nullopt : std::optional(Type{dtype, {1}});
        const Tensor in = is_test ? Tensor() : number(dtype, 1.5F);
        const KernelCase use{
            kScale.op, {{"is_test", is_test}, {"moving_rate", 0.9}}, {x, in, in}, {x.type(), state, state, state}};
        expect_agrees(kScale, use);
      }
    }
    const Tensor x = as_type(dtype, tie_tensor({70001}, 0.5F));
    const KernelCase use{kStraight.op, {}, {x}, {x.type()}};
    expect_agrees(kStraight, use);
    const Tensor copied = run_kernel(kStraight.simd, use, available_cpu_levels().back())[0];
    if (available_cpu_levels().size() > 1) {
      EXPECT_EQ(std::memcmp(copied.raw(), x.raw(), x.bytes()), 0);  // the bits of NaN too
    }
  }
}

KernelCase linear(const Layout& layout, int64_t qmax, int64_t round_type, bool is_test, const Tensor& x) {
  const DType dtype = x.dtype();
  const bool averages = !is_test && layout.axis < 0;
  const std::optional<Type> state = averages ? std::optional(Type{dtype, {1}}) : std::nullopt;
  const Tensor scale = scale_tensor(dtype, layout.channels());
  const Tensor in = averages ? number(dtype, 1.5F) : Tensor();
  return {kQuantize.op,
          {{"quant_axis", layout.axis},
           {"bit_length", int64_t{8}},
           {"qmin", -qmax - 1},
           {"qmax", qmax},
           {"round_type", round_type},
           {"is_test", is_test},
           {"only_observer", false}},
          {x, scale, Tensor(DType::i32, {1}), in, in},
          {x.type(), state, state, is_test ? std::nullopt : std::optional(scale.type())}};
}

// A0.1
TEST(PaddleQuantizeLinear, EveryLevelGivesTheBitsOfTheReference) {
  const std::vector<Layout> some = {{{300}},       {{2, 65539}},    {{20, 33}, 0},
                                    {{20, 33}, 1}, {{3, 9, 70}, 1}, {{6, 20, 3}, 1}};
  for (const Layout& layout : some) {
    for (const DType dtype : kTypes) {
      for (const int64_t qmax : {0, 7, 127, 448, 57344}) {
        for (const int64_t round_type : {0, 1}) {
          for (const bool is_test : {true, false}) {
            KernelCase use = linear(layout, qmax, round_type, is_test, as_type(dtype, tie_tensor(layout.dims, 0.005F)));
            expect_agrees(kQuantize, use);
            use.attributes.insert_or_assign("only_observer", true);
            if (qmax == 127) expect_agrees(kQuantize, use);
          }
        }
      }
    }
  }
}

/// One channel of scale 1 and largest code qmax, so that the values before rounding are those of x.
std::vector<float> rounded_by(int64_t qmax, const std::vector<float>& x) {
  KernelCase use = linear({{std::ssize(x)}}, qmax, 0, true, f32_tensor({std::ssize(x)}, x));
  use.in[1] = Tensor::scalar(static_cast<float>(qmax));
  const Tensor y = run_kernel(kQuantize.reference, use, CpuLevel::scalar)[0];
  expect_agrees(kQuantize, use);
  return {y.data<float>().begin(), y.data<float>().end()};
}

// A8.3
TEST(PaddleQuantizeLinear, EightBitFloatsOfQmax) {
  const std::vector<float> x = {1.0F,  1.0625F,   1.1875F, 464.0F, -464.0F, 480.0F,
                                -1e9F, kInfinity, 0.001F,  -0.0F,  0x3p-10F};
  EXPECT_EQ(rounded_by(448, x), (std::vector<float>{1.0F, 1.0F, 1.25F, 448.0F, -448.0F, 448.0F, -448.0F, 448.0F,
                                                    0.001953125F, -0.0F, 0x1p-8F}));
  const std::vector<float> nan = rounded_by(448, {465.0F, -479.0F, kNan, -kNan});
  EXPECT_TRUE(std::isnan(nan[0]) && std::isnan(nan[1]));
  EXPECT_EQ(nan[2], 448.0F);
  EXPECT_EQ(nan[3], -448.0F);
  EXPECT_EQ(rounded_by(57344, {1.125F, 1.375F, 60000.0F, -kInfinity, 0x3p-17F, -0.0F}),
            (std::vector<float>{1.0F, 1.5F, 57344.0F, -57344.0F, 0x1p-15F, -0.0F}));
  EXPECT_TRUE(std::isnan(rounded_by(57344, {kNan})[0]));
}

KernelCase dequantize(const Layout& layout, int64_t qmax, const Tensor& x, DType to) {
  const Tensor scale = scale_tensor(to, layout.channels());
  return {kDequantize.op,
          {{"quant_axis", layout.axis},
           {"bit_length", int64_t{8}},
           {"qmin", -qmax - 1},
           {"qmax", qmax},
           {"round_type", int64_t{0}},
           {"is_test", true},
           {"only_observer", false}},
          {x, scale, Tensor(), Tensor(), Tensor()},
          {Type{to, layout.dims}}};
}

// A0.1
TEST(PaddleDequantizeLinear, EveryTypeOfXWithEveryTypeOfScale) {
  const std::vector<Layout> some = {{{300}}, {{2, 65539}}, {{20, 33}, 0}, {{20, 33}, 1}, {{6, 20, 3}, 1}};
  for (const Layout& layout : some) {
    for (const DType to : kTypes) {
      for (const int64_t qmax : {127, 0, 57344}) {
        for (const DType from : kTypes)
          expect_agrees(kDequantize, dequantize(layout, qmax, as_type(from, tie_tensor(layout.dims, 0.5F)), to));
        Tensor codes(DType::i8, layout.dims);
        Random random(1, 1);
        for (int8_t& code : codes.data<int8_t>()) code = static_cast<int8_t>(random.below(256));
        expect_agrees(kDequantize, dequantize(layout, qmax, codes, to));
      }
      KernelCase copy = dequantize(layout, 127, as_type(to, tie_tensor(layout.dims, 0.5F)), to);
      copy.attributes.insert_or_assign("only_observer", true);
      expect_agrees(kDequantize, copy);
    }
  }
}

// A0.1
TEST(PaddleDequantizeMaxAbs, EveryLevelGivesTheBitsOfTheReference) {
  for (const DType dtype : kTypes) {
    for (const int64_t size : {0, 1, 33, 65537}) {
      for (const double max_range : {127.0, 0.0, 16129.5}) {
        const Tensor x = as_type(dtype, tie_tensor({size}, 0.5F));
        for (const float scale : {0.37F, 1e-30F, 0.0F, kInfinity})
          expect_agrees(kDequantizeMaxAbs,
                        {kDequantizeMaxAbs.op, {{"max_range", max_range}}, {x, number(dtype, scale)}, {x.type()}});
      }
    }
  }
}

// A0.1
TEST(PaddleDequantizeChannels, OneTensorOfScalesAndTwo) {
  for (const DType dtype : kTypes) {
    for (const Layout& layout : run_layouts()) {
      const Tensor x = as_type(dtype, tie_tensor(layout.dims, 0.5F));
      KernelCase use{
          kDequantizeChannels.op,
          {{"quant_bits", std::vector<int64_t>{8}}, {"quant_axis", layout.axis}, {"x_num_col_dims", int64_t{1}}},
          {x, scale_tensor(dtype, layout.channels())},
          {x.type()}};
      expect_agrees(kDequantizeChannels, use);
      use.in.push_back(number(dtype, 0.7F));
      use.attributes = {
          {"quant_bits", std::vector<int64_t>{8, 4}}, {"quant_axis", int64_t{0}}, {"x_num_col_dims", layout.axis}};
      expect_agrees(kDequantizeChannels, use);
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
