// Paddle's operators at 64 MiB and at 1 MiB of x, in training and with given scales (bench --benchmark_filter=paddle).
// If a search does not fit into a piece, its bytes are counted twice, because x is read once for the scale and once for
// codes.
#include "bench/kernel_bench.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Dims of x by its bytes, for an element type.
struct Size {
  const char* name;
  int64_t bytes;
  Dims flat(DType dtype) const { return {bytes / 1024 / static_cast<int64_t>(size_of(dtype)), 1024}; }
  Dims with_run(DType dtype, int64_t channels, int64_t run) const {
    return {std::max<int64_t>(1, bytes / static_cast<int64_t>(size_of(dtype)) / (channels * run)), channels, run};
  }
};
const Size kSizes[] = {{"64MiB", int64_t{64} << 20}, {"1MiB", int64_t{1} << 20}};

/// Makes normal numbers from a repeated period.
Tensor normal_tensor(DType dtype, const Dims& dims) {
  constexpr int64_t kPeriod = 99991;
  Tensor tensor(dtype, dims);
  if (dtype == DType::i8) return tensor;
  with_any_float(dtype, [&]<class T>() {
    T* to = reinterpret_cast<T*>(tensor.raw());
    Random random(1, 0);
    for (int64_t i = 0; i < std::min(kPeriod, tensor.size()); ++i) to[i] = T(random.normal());
    for (int64_t i = kPeriod; i < tensor.size(); ++i) to[i] = to[i - kPeriod];
  });
  return tensor;
}

Tensor filled(DType dtype, const Dims& dims, float value) {
  Tensor tensor(dtype, dims);
  with_any_float(dtype, [&]<class T>() { std::fill_n(reinterpret_cast<T*>(tensor.raw()), tensor.size(), T(value)); });
  return tensor;
}

/// Parameters of a benchmark. Its tensors are made when it runs.
struct Form {
  const Kernel* kernel;
  BenchCase (*make)(const Form& form, const Tensor& x);
  DType dtype = DType::f32;
  Dims dims;
  bool is_test = false;
  int64_t round_type = 0;
  int64_t axis = -1;
  int passes = 2;  ///< passes over memory: reads of x and the write of the result

  int64_t channels() const { return axis < 0 ? 1 : dims[static_cast<size_t>(axis)]; }
  Tensor scales() const { return filled(dtype, {channels()}, 3.0F); }
  Tensor one() const { return filled(dtype, {1}, 3.0F); }
  Attributes attributes(Attributes more) const {
    more.insert({{"bit_length", int64_t{8}}, {"round_type", round_type}});
    return more;
  }
};

BenchCase abs_max(const Form& f, const Tensor& x) { return {"", f.attributes({}), {x}, {x.clone(), f.one()}}; }

BenchCase channel_wise(const Form& f, const Tensor& x) {
  return {"", f.attributes({{"quant_axis", f.axis}, {"is_test", f.is_test}}), {x, f.scales()}, {x.clone(), f.scales()}};
}

BenchCase average(const Form& f, const Tensor& x) {
  return {"",
          f.attributes({{"is_test", f.is_test}, {"moving_rate", 0.9}}),
          {x, f.one(), f.one(), f.one()},
          {x.clone(), f.one(), f.one(), f.one()}};
}

BenchCase range(const Form& f, const Tensor& x) {
  return {"",
          f.attributes({{"is_test", f.is_test}, {"window_size", int64_t{100}}}),
          {x, f.one(), Tensor(DType::i64, {1}), filled(f.dtype, {100}, 1.0F)},
          {x.clone(), f.one(), filled(f.dtype, {100}, 1.0F)}};
}

BenchCase scale_alone(const Form& f, const Tensor& x) {
  return {"",
          f.attributes({{"is_test", f.is_test}, {"moving_rate", 0.9}}),
          {x, f.one(), f.one()},
          {x.clone(), f.one(), f.one(), f.one()}};
}

BenchCase straight(const Form&, const Tensor& x) { return {"", {}, {x}, {x.clone()}}; }

BenchCase linear(const Form& f, const Tensor& x) {
  return {"",
          f.attributes({{"quant_axis", f.axis},
                        {"qmin", int64_t{-128}},
                        {"qmax", int64_t{127}},
                        {"is_test", f.is_test},
                        {"only_observer", false}}),
          {x, f.scales(), Tensor(), f.one(), f.one()},
          {x.clone(), f.one(), f.one(), f.scales()}};
}

BenchCase dequantize_max_abs(const Form& f, const Tensor& x) {
  return {"", {{"max_range", 127.0}}, {x, f.one()}, {x.clone()}};
}

BenchCase dequantize_channels(const Form& f, const Tensor& x) {
  return {"",
          {{"quant_bits", std::vector<int64_t>{8}}, {"quant_axis", f.axis}, {"x_num_col_dims", int64_t{1}}},
          {x, f.scales()},
          {x.clone()}};
}

void measure(benchmark::State& state, const Form& form) {
  const Tensor x = normal_tensor(form.dtype, form.dims);
  BenchCase use = form.make(form, x);
  use.bytes = static_cast<double>(form.passes) * static_cast<double>(x.bytes());
  time_kernel(state, *form.kernel, std::move(use));
}

void add(const std::string& name, const Form& form) {
  benchmark::RegisterBenchmark(("paddle/" + name).c_str(), [=](benchmark::State& state) {
    measure(state, form);
  })->Unit(benchmark::kMicrosecond);
}

void add_whole_tensor(const Size& size, DType dtype) {
  const std::string with = std::string("/") + std::string(name(dtype)) + "/" + size.name;
  const Dims dims = size.flat(dtype);
  const auto each_rounding = [&](const std::string& op, const Kernel& kernel, auto make, bool is_test, int passes) {
    for (const int64_t round_type : {0, 1})
      add(op + "/round_type:" + std::to_string(round_type) + with,
          {&kernel, make, dtype, dims, is_test, round_type, -1, passes});
  };
  each_rounding("fake_quantize_abs_max", cpu_fake_quantize_abs_max_simd, abs_max, false, 3);
  each_rounding("fake_quantize_dequantize_abs_max", cpu_fake_quantize_dequantize_abs_max_simd, abs_max, false, 3);
  each_rounding("fake_quantize_range_abs_max", cpu_fake_quantize_range_abs_max_simd, range, false, 3);
  each_rounding("fake_quantize_range_abs_max/is_test", cpu_fake_quantize_range_abs_max_simd, range, true, 2);
  each_rounding("fake_quantize_moving_average_abs_max", cpu_fake_quantize_moving_average_abs_max_simd, average, false,
                3);
  each_rounding("fake_quantize_dequantize_moving_average_abs_max",
                cpu_fake_quantize_dequantize_moving_average_abs_max_simd, average, false, 3);
  each_rounding("fake_quantize_dequantize_moving_average_abs_max/is_test",
                cpu_fake_quantize_dequantize_moving_average_abs_max_simd, average, true, 2);
  add("moving_average_abs_max_scale" + with, {&cpu_moving_average_abs_max_scale_simd, scale_alone, dtype, dims});
  add("straight_through_estimator_grad" + with, {&cpu_straight_through_estimator_grad_simd, straight, dtype, dims});
  add("quantize_linear/tensor" + with, {&cpu_quantize_linear_simd, linear, dtype, dims, true});
  add("quantize_linear/tensor_train" + with, {&cpu_quantize_linear_simd, linear, dtype, dims, false, 0, -1, 3});
  add("dequantize_linear/tensor" + with, {&cpu_dequantize_linear_simd, linear, dtype, dims});
  add("fake_dequantize_max_abs" + with, {&cpu_fake_dequantize_max_abs_simd, dequantize_max_abs, dtype, dims});
}

void add_channels(const Size& size, DType dtype) {
  const std::string with = std::string("/") + std::string(name(dtype)) + "/" + size.name;
  // A channel that fits into a piece is read from memory once.
  const Dims rows = {size.bytes / static_cast<int64_t>(size_of(dtype)) / 4608, 512, 9};
  for (const int64_t round_type : {0, 1})
    add("fake_channel_wise_quantize_dequantize_abs_max/axis:0/round_type:" + std::to_string(round_type) + with,
        {&cpu_fake_channel_wise_quantize_dequantize_abs_max_simd, channel_wise, dtype, rows, false, round_type, 0, 2});
  for (const int64_t run : {1, 2, 3, 9, 15, 49, 64, 1000}) {
    const Dims dims = size.with_run(dtype, 250, run);
    const std::string on = "/axis:1/run:" + std::to_string(run) + with;
    add("fake_channel_wise_quantize_abs_max" + on,
        {&cpu_fake_channel_wise_quantize_abs_max_simd, channel_wise, dtype, dims, false, 1, 1, 3});
    add("fake_channel_wise_quantize_abs_max/is_test" + on,
        {&cpu_fake_channel_wise_quantize_abs_max_simd, channel_wise, dtype, dims, true, 1, 1, 2});
    add("fake_channel_wise_dequantize_max_abs" + on,
        {&cpu_fake_channel_wise_dequantize_max_abs_simd, dequantize_channels, dtype, dims, true, 1, 1, 2});
  }
  const Dims many = size.with_run(dtype, 20000, 3);
  add("fake_channel_wise_dequantize_max_abs/axis:1/many_channels/run:3" + with,
      {&cpu_fake_channel_wise_dequantize_max_abs_simd, dequantize_channels, dtype, many, true, 1, 1, 2});
  add("quantize_linear/axis:0" + with, {&cpu_quantize_linear_simd, linear, dtype, rows, true, 0, 0, 2});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Size& size : kSizes) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      add_whole_tensor(size, dtype);
      add_channels(size, dtype);
    }
  }
  return true;
}();

}  // namespace
}  // namespace halfstep::kernels
