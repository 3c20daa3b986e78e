// PyTorch's quantizers: time, bytes per second, and share of a copy's speed (bench --benchmark_filter=torch).
#include "bench/kernel_bench.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/small_float.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct Setting {
  const char* name;
  DType dtype;
  Dims dims;
  int64_t axis;
  int64_t channels() const { return axis < 0 ? 1 : dims[axis]; }
};

/// Activations that exceed any cache, the weight of a large 3 x 3 convolution in both orders, and channels on the
/// innermost axis.
const Setting kSettings[] = {{"feature", DType::f32, {32, 64, 56, 56}, 1},
                             {"feature_f16", DType::f16, {64, 64, 56, 56}, 1},
                             {"feature_bf16", DType::bf16, {64, 64, 56, 56}, 1},
                             {"feature_f64", DType::f64, {16, 64, 56, 56}, 1},
                             {"weight", DType::f32, {512, 512, 3, 3}, 0},
                             {"weight_in", DType::f32, {512, 512, 3, 3}, 1},
                             {"columns", DType::f32, {8192, 1024}, 1}};
const Setting kTensors[] = {{"tensor", DType::f32, {32, 64, 56, 56}, -1},
                            {"tensor_f16", DType::f16, {64, 64, 56, 56}, -1},
                            {"tensor_bf16", DType::bf16, {64, 64, 56, 56}, -1},
                            {"tensor_f64", DType::f64, {16, 64, 56, 56}, -1}};

Tensor normal_tensor(DType dtype, const Dims& dims) {
  Tensor tensor(dtype, dims);
  Random random(1, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const float v = random.normal();
    if (dtype == DType::f32) tensor.data<float>()[i] = v;
    if (dtype == DType::f64) tensor.data<double>()[i] = v;
    if (dtype == DType::f16) tensor.data<uint16_t>()[i] = Half(v).bits;
    if (dtype == DType::bf16) tensor.data<uint16_t>()[i] = BFloat16(v).bits;
  }
  return tensor;
}

Tensor filled(const Dims& dims, float value) {
  Tensor tensor(DType::f32, dims);
  std::ranges::fill(tensor.data<float>(), value);
  return tensor;
}

Attributes attributes_of(const Setting& s) {
  return {{"axis", s.axis}, {"quant_min", int64_t{-128}}, {"quant_max", int64_t{127}}, {"grad_factor", 0.5},
          {"scale", 0.03},  {"zero_point", int64_t{3}}};
}

BenchCase case_of(const char* op, const Setting& s, DType zero_point, bool backward) {
  BenchCase use{op, attributes_of(s), {normal_tensor(s.dtype, s.dims)}, {Tensor(s.dtype, s.dims)}, 0};
  if (s.axis >= 0) {
    use.in.push_back(filled({s.channels()}, 0.03F));
    use.in.push_back(Tensor(zero_point, {s.channels()}));
  }
  if (backward) use.in.push_back(normal_tensor(s.dtype, s.dims));
  use.bytes = static_cast<double>(use.in[0].bytes()) * (backward ? 3 : 2);
  return use;
}

void learnable_grad(benchmark::State& state, const Setting& s, const char* op, const Kernel& kernel) {
  BenchCase use = case_of(op, s, DType::f32, true);
  if (s.axis < 0) {
    use.in.insert(use.in.begin() + 1, filled({1}, 0.03F));
    use.in.insert(use.in.begin() + 2, filled({1}, 3.0F));
  }
  use.out.push_back(filled({s.channels()}, 0.0F));
  use.out.push_back(filled({s.channels()}, 0.0F));
  time_kernel(state, kernel, std::move(use));
}

void fused(benchmark::State& state, const Setting& s) {
  BenchCase use{"fused_moving_avg_obs_fake_quant",
                {{"observer_on", true},
                 {"fake_quant_on", true},
                 {"averaging_const", 0.01},
                 {"quant_min", int64_t{-128}},
                 {"quant_max", int64_t{127}},
                 {"ch_axis", s.axis},
                 {"per_row_fake_quant", s.axis >= 0},
                 {"symmetric_quant", false}},
                {normal_tensor(s.dtype, s.dims), filled({s.channels()}, -1.0F), filled({s.channels()}, 1.0F),
                 filled({s.channels()}, 0.03F), Tensor(DType::i32, {s.channels()})},
                {Tensor(s.dtype, s.dims)},
                0};
  for (size_t i = 1; i < 5; ++i) use.out.push_back(use.in[i].clone());
  use.bytes = static_cast<double>(use.in[0].bytes()) *
              (s.axis == 0 ? 2 : 3);  // axis 0: x is read once from memory, and twice from a cache
  time_kernel(state, cpu_fused_moving_avg_obs_fake_quant_simd, std::move(use));
}

void observer(benchmark::State& state, const Setting& s) {
  BenchCase use{"per_channel_min_max_observer",
                {{"ch_axis", s.axis},
                 {"dtype", std::string("quint8")},
                 {"qscheme", std::string("per_channel_affine")},
                 {"quant_min", int64_t{0}},
                 {"quant_max", int64_t{255}},
                 {"eps", 1e-7},
                 {"zero_point_type", std::string("i32")}},
                {normal_tensor(s.dtype, s.dims), filled({s.channels()}, -1.0F), filled({s.channels()}, 1.0F)},
                {filled({s.channels()}, 0), filled({s.channels()}, 0), filled({s.channels()}, 0),
                 Tensor(DType::i32, {s.channels()})},
                0};
  use.bytes = static_cast<double>(use.in[0].bytes());
  time_kernel(state, cpu_per_channel_min_max_observer_blocks, std::move(use));
}

void quantize(benchmark::State& state, const Setting& s, const char* op, const Kernel& kernel) {
  BenchCase use = case_of(op, s, DType::i32, false);
  use.out = {Tensor(DType::u8, s.dims)};
  use.attributes["code_type"] = std::string("u8");
  use.bytes = static_cast<double>(use.in[0].bytes() + use.out[0].bytes());
  time_kernel(state, kernel, std::move(use));
}

void dequantize(benchmark::State& state, const Setting& s, const char* op, const Kernel& kernel) {
  BenchCase use = case_of(op, s, DType::i32, false);
  use.in[0] = Tensor(DType::u8, s.dims);
  use.bytes = static_cast<double>(use.in[0].bytes() + use.out[0].bytes());
  time_kernel(state, kernel, std::move(use));
}

template <class Body>
void add(const std::string& name, const Setting& s, Body body) {
  benchmark::RegisterBenchmark(("torch/" + name + "/" + s.name).c_str(), [body, &s](benchmark::State& state) {
    body(state, s);
  })->Unit(benchmark::kMicrosecond);
}

template <class Function, class... Args>
auto bound(Function function, const char* op, const Kernel& kernel, Args... args) {
  return [=, &kernel](benchmark::State& state, const Setting& s) { function(state, s, op, kernel, args...); };
}

void elementwise(benchmark::State& state, const Setting& s, const char* op, const Kernel& kernel, DType zero_point,
                 bool backward) {
  time_kernel(state, kernel, case_of(op, s, zero_point, backward));
}

void add_tensors(const Setting& s) {
  add("fake_quantize", s,
      bound(elementwise, "fake_quantize_per_tensor_affine", cpu_fake_quantize_per_tensor_affine_simd, DType::i32,
            false));
  add("fake_quantize_grad", s,
      bound(elementwise, "fake_quantize_per_tensor_affine_grad", cpu_fake_quantize_per_tensor_affine_grad_simd,
            DType::i32, true));
  add("learnable_grad", s,
      bound(learnable_grad, "fake_quantize_learnable_per_tensor_affine_grad",
            cpu_fake_quantize_learnable_per_tensor_affine_grad_blocks));
  add("fused", s, fused);
  if (s.dtype != DType::f32) return;
  add("quantize", s, bound(quantize, "quantize_per_tensor", cpu_quantize_per_tensor_simd));
  add("dequantize", s, bound(dequantize, "dequantize_per_tensor", cpu_dequantize_per_tensor_simd));
}

void add_channels(const Setting& s) {
  for (const DType zero : {DType::i32, DType::f32}) {
    const std::string with = zero == DType::f32 ? "_float_zero" : "";
    add("fake_quantize" + with, s,
        bound(elementwise, "fake_quantize_per_channel_affine", cpu_fake_quantize_per_channel_affine_simd, zero, false));
  }
  add("fake_quantize_grad", s,
      bound(elementwise, "fake_quantize_per_channel_affine_grad", cpu_fake_quantize_per_channel_affine_grad_simd,
            DType::i32, true));
  add("learnable_grad", s,
      bound(learnable_grad, "fake_quantize_learnable_per_channel_affine_grad",
            cpu_fake_quantize_learnable_per_channel_affine_grad_blocks));
  add("fused", s, fused);
  add("observer", s, observer);
  if (s.dtype != DType::f32) return;
  add("quantize", s, bound(quantize, "quantize_per_channel", cpu_quantize_per_channel_simd));
  add("dequantize", s, bound(dequantize, "dequantize_per_channel", cpu_dequantize_per_channel_simd));
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Setting& s : kTensors) add_tensors(s);
  for (const Setting& s : kSettings) add_channels(s);
  return true;
}();

}  // namespace
}  // namespace halfstep::kernels
