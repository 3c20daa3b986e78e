// Quantizer kernels: time, bytes per second, and share of a copy's speed (bench --benchmark_filter=quantizers).
#include "bench/kernel_bench.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Activations that exceed any second-level cache, and the weight of a large 3 x 3 convolution.
const Dims kActivation = {16, 64, 56, 56};
const Dims kWeight = {512, 512, 3, 3};

Tensor normal_tensor(const Dims& dims) {
  Tensor tensor(DType::f32, dims);
  Random random(1, 0);
  for (float& v : tensor.data<float>()) v = random.normal();
  return tensor;
}

Tensor filled(int64_t size, float value) {
  Tensor tensor(DType::f32, {size});
  std::ranges::fill(tensor.data<float>(), value);
  return tensor;
}

struct Setting {
  const char* name;
  int64_t axis;
  const Dims& dims;
  const char* method;
  const char* rounding;
  int64_t channels() const { return axis < 0 ? 1 : dims[axis]; }
  Attributes attributes(const char* code_type = "u8") const {
    const bool is_signed = std::string_view(code_type) == "i8";
    return {{"axis", axis},
            {"code_min", int64_t{is_signed ? -127 : 0}},
            {"code_max", int64_t{is_signed ? 127 : 255}},
            {"code_type", std::string(code_type)},
            {"method", std::string(method)},
            {"rounding", std::string(rounding)},
            {"requantize", std::string("fixed_point")},
            {"multiplier_bits", int64_t{31}},
            {"gradient_scale", 1.0}};
  }
  std::vector<Tensor> operands(const Tensor& x) const {
    return {x, filled(channels(), 0.03F), Tensor(DType::i32, {channels()})};
  }
};

const Setting kSettings[] = {{"tensor", -1, kActivation, "divide", "half_even"},
                             {"tensor_reciprocal_half_up", -1, kActivation, "reciprocal", "half_up"},
                             {"channel", 1, kActivation, "divide", "half_even"},
                             {"weight", 0, kWeight, "divide", "half_even"}};

BenchCase elementwise(const char* op, const Setting& setting, bool with_grad) {
  const Tensor x = normal_tensor(setting.dims);
  BenchCase use{op, setting.attributes(), setting.operands(x), {Tensor(DType::f32, setting.dims)}, 0};
  if (with_grad) use.in.push_back(x.clone());
  use.bytes = static_cast<double>(x.bytes()) * (with_grad ? 3 : 2);
  return use;
}

void fake_quantize(benchmark::State& state, const Setting& setting, const Kernel& kernel) {
  time_kernel(state, kernel, elementwise("fake_quantize", setting, false));
}

void fake_quantize_grad(benchmark::State& state, const Setting& setting, const Kernel& kernel) {
  time_kernel(state, kernel, elementwise("fake_quantize_grad", setting, true));
}

void scale_grad(benchmark::State& state, const Setting& setting, const Kernel& kernel) {
  BenchCase use = elementwise("fake_quantize_scale_grad", setting, true);
  use.out = {filled(setting.channels(), 0.0F)};
  use.bytes = use.bytes * 2 / 3;
  time_kernel(state, kernel, std::move(use));
}

void quantize(benchmark::State& state, const Setting& setting, const Kernel& kernel) {
  BenchCase use = elementwise("quantize", setting, false);
  use.attributes = setting.attributes("i8");
  use.out = {Tensor(DType::i8, setting.dims)};
  use.bytes = static_cast<double>(use.in[0].bytes() + use.out[0].bytes());
  time_kernel(state, kernel, std::move(use));
}

void dequantize(benchmark::State& state, const Setting& setting, const Kernel& kernel) {
  BenchCase use = elementwise("dequantize", setting, false);
  use.in[0] = Tensor(DType::u8, setting.dims);
  use.bytes = static_cast<double>(use.in[0].bytes() + use.out[0].bytes());
  time_kernel(state, kernel, std::move(use));
}

void observe(benchmark::State& state, const Setting& setting, const Kernel& kernel, const char* method) {
  BenchCase use{"observe_range", setting.attributes(), {}, {}, 0};
  use.attributes.insert_or_assign("method", std::string(method));
  use.attributes.insert(
      {{"rate", 0.1}, {"zero_points", std::string("affine")}, {"power_of_two", false}, {"is_test", false}});
  const int64_t channels = setting.channels();
  use.in = {filled(channels, 1.0F),
            filled(channels, -1.0F),
            filled(channels, 1.0F),
            Tensor(DType::i32, {channels}),
            Tensor(),
            normal_tensor(setting.dims)};
  for (int port = 0; port < 4; ++port) use.out.push_back(use.in[port].clone());
  use.out.emplace_back();
  use.bytes = static_cast<double>(use.in[5].bytes());
  time_kernel(state, kernel, std::move(use));
}

template <class Body, class... Args>
void add(const std::string& name, Body body, Args... args) {
  benchmark::RegisterBenchmark(("quantizers/" + name).c_str(), [=](benchmark::State& state) {
    body(state, args...);
  })->Unit(benchmark::kMicrosecond);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Setting& s : kSettings) {
    const auto body = [&s](auto function, const Kernel& kernel) {
      return [&s, function, &kernel](benchmark::State& state) { function(state, s, kernel); };
    };
    const std::string with = std::string("/") + s.name;
    add("fake_quantize" + with, body(fake_quantize, cpu_fake_quantize_simd));
    add("fake_quantize_grad" + with, body(fake_quantize_grad, cpu_fake_quantize_grad_simd));
    add("fake_quantize_scale_grad" + with, body(scale_grad, cpu_fake_quantize_scale_grad_chunks));
    add("quantize" + with, body(quantize, cpu_quantize_simd));
    add("dequantize" + with, body(dequantize, cpu_dequantize_simd));
    for (const char* method : {"minmax", "mse"})
      add(std::string("observe_range/") + method + with,
          [&s, method](benchmark::State& state) { observe(state, s, cpu_observe_range_chunks, method); });
  }
  add("fake_quantize/reference",
      [](benchmark::State& state) { fake_quantize(state, kSettings[0], reference_fake_quantize); });
  return true;
}();

}  // namespace
}  // namespace halfstep::kernels
