// Float kernels on one thread. Convolutions and products are compared with the machine's multiply-add peak in the same
// run, the others with a copy (bench --benchmark_filter=float).
#include "bench/kernel_bench.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/float_kernels.cpp"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::peak::HWY_NAMESPACE {
/// Runs `rounds` of kChains independent fused multiply-adds on vectors. Returns the number of floating-point
/// operations.
double multiply_adds(int64_t rounds, float* sink) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int kChains = 12;  // two units with a latency of 4 to 6; more chains exceed the registers
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, *sink + static_cast<float>(i));
  const auto a = hn::Set(d, 0.999F), b = hn::Set(d, 0.001F);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12  // otherwise the sums stay in memory
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], a, b);
  }
  for (auto& sum : sums) *sink += hn::GetLane(sum);
  return 2.0 * kChains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}
}  // namespace halfstep::kernels::peak::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace peak {

/// Returns floating-point operations per second of one core at this level, the best of several tries in this run.
double flops_per_second() {
  static const double measured = [] {
    const auto function = HS_SIMD_CHOOSE(cpu_level(), multiply_adds);
    double best = 0;
    float sink = 1.0F;
    for (int i = 0; i < 20; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const double flops = function(1'000'000, &sink);
      best = std::max(best, flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    benchmark::DoNotOptimize(sink);
    return best;
  }();
  return measured;
}

}  // namespace peak

namespace {

Tensor normal_tensor(const Dims& dims) {
  Tensor tensor(DType::f32, dims);
  Random random(1, 0);
  for (float& v : tensor.data<float>()) v = random.normal();
  return tensor;
}

double bytes_of(const BenchCase& use) {
  double bytes = 0;
  for (const Tensor& t : use.in) bytes += static_cast<double>(t.bytes());
  for (const Tensor& t : use.out) bytes += static_cast<double>(t.bytes());
  return bytes;
}

/// flops: 0 if the copy is the limit.
void time_case(benchmark::State& state, const Kernel& kernel, BenchCase use, double flops = 0) {
  use.bytes = bytes_of(use);
  const double seconds = time_kernel(state, kernel, std::move(use));
  if (flops == 0 || seconds == 0) return;
  state.counters["GFLOP/s"] = flops / seconds * 1e-9;
  state.counters["of_peak"] = flops / seconds / peak::flops_per_second();
}

struct Layer {
  const char* name;
  int64_t n, c, size, o, k, stride = 1, groups = 1;

  int64_t pad() const { return k / 2; }
  int64_t out_size() const { return (size + 2 * pad() - k) / stride + 1; }
  Tensor x() const { return normal_tensor({n, c, size, size}); }
  Tensor weights() const { return normal_tensor({o, c / groups, k, k}); }
  Tensor out() const { return normal_tensor({n, o, out_size(), out_size()}); }
  double flops() const { return 2.0 * static_cast<double>(n * o * out_size() * out_size() * (c / groups) * k * k); }
  Attributes attributes() const {
    return {{"groups", groups},
            {"stride", std::vector<int64_t>{stride, stride}},
            {"dilation", std::vector<int64_t>{1, 1}},
            {"pad", std::vector<int64_t>(4, pad())}};
  }
};

const Layer kLayers[] = {
    {"first_3_16_32x32", 128, 3, 32, 16, 3},
    {"c16_32x32", 128, 16, 32, 16, 3},
    {"c32_16x16", 128, 32, 16, 32, 3},
    {"c64_8x8", 128, 64, 8, 64, 3},
    {"c64_8x8_batch_1", 1, 64, 8, 64, 3},
    {"c16_32_stride_2", 128, 16, 32, 32, 3, 2},
    {"c32_64_1x1_stride_2", 128, 32, 16, 64, 1, 2},
    {"depthwise_64_16x16", 128, 64, 16, 64, 3, 1, 64},
    {"digits_1_32_8x8", 32, 1, 8, 32, 3},
    {"digits_32_8x8", 32, 32, 8, 32, 3},
    {"digits_depthwise_32_8x8", 32, 32, 8, 32, 3, 1, 32},
    {"digits_64_4x4", 32, 64, 4, 64, 3},
};

void forward(benchmark::State& state, const Layer& layer) {
  time_case(state, cpu_conv2d_onednn,
            {"conv2d", layer.attributes(), {layer.x(), layer.weights(), normal_tensor({layer.o})}, {layer.out()}},
            layer.flops());
}

void grad_x(benchmark::State& state, const Layer& layer) {
  Attributes attributes = layer.attributes();
  attributes["height"] = attributes["width"] = layer.size;
  time_case(state, cpu_conv2d_grad_x_onednn, {"conv2d_grad_x", attributes, {layer.out(), layer.weights()}, {layer.x()}},
            layer.flops());
}

void grad_w(benchmark::State& state, const Layer& layer) {
  Attributes attributes = layer.attributes();
  attributes["kernel"] = std::vector<int64_t>{layer.k, layer.k};
  time_case(state, cpu_conv2d_grad_w_onednn, {"conv2d_grad_w", attributes, {layer.x(), layer.out()}, {layer.weights()}},
            layer.flops());
}

void linear(benchmark::State& state, int64_t m, int64_t n, int64_t k) {
  time_case(state, cpu_linear_onednn,
            {"linear", {}, {normal_tensor({m, k}), normal_tensor({n, k}), normal_tensor({n})}, {normal_tensor({m, n})}},
            2.0 * static_cast<double>(m * n * k));
}

void batch_norm(benchmark::State& state, const Dims& dims) {
  const Tensor c = normal_tensor({dims[1]});
  time_case(state, cpu_batch_norm_channels,
            {"batch_norm",
             {{"epsilon", 1e-5}, {"momentum", 0.9}, {"is_test", false}},
             {normal_tensor(dims), c, c, c, c},
             {normal_tensor(dims), c.clone(), c.clone(), c.clone(), c.clone()}});
}

void batch_norm_grad(benchmark::State& state, const Dims& dims) {
  const Tensor c = normal_tensor({dims[1]});
  time_case(state, cpu_batch_norm_grad_channels,
            {"batch_norm_grad",
             {},
             {normal_tensor(dims), c, c, c, normal_tensor(dims)},
             {normal_tensor(dims), c.clone(), c.clone()}});
}

void bias_grad(benchmark::State& state, const Dims& dims) {
  time_case(state, cpu_reduce_sum_channels,
            {"reduce_sum",
             {{"axes", std::vector<int64_t>{0, 2, 3}}, {"keep_dims", false}},
             {normal_tensor(dims)},
             {normal_tensor({dims[1]})}});
}

const Attributes kHalving = {{"kernel", std::vector<int64_t>{2, 2}},
                             {"stride", std::vector<int64_t>{2, 2}},
                             {"pad", std::vector<int64_t>(4, 0)}};

void max_pool(benchmark::State& state, const Dims& dims) {
  time_case(
      state, cpu_max_pool2d_rows,
      {"max_pool2d", kHalving, {normal_tensor(dims)}, {normal_tensor({dims[0], dims[1], dims[2] / 2, dims[3] / 2})}});
}

void max_pool_grad(benchmark::State& state, const Dims& dims) {
  time_case(state, cpu_max_pool2d_grad_planes,
            {"max_pool2d_grad",
             kHalving,
             {normal_tensor(dims), normal_tensor({dims[0], dims[1], dims[2] / 2, dims[3] / 2})},
             {normal_tensor(dims)}});
}

void global_average(benchmark::State& state, const Dims& dims) {
  time_case(state, cpu_global_avg_pool_planes,
            {"global_avg_pool", {}, {normal_tensor(dims)}, {normal_tensor({dims[0], dims[1], 1, 1})}});
}

void sgd(benchmark::State& state, int64_t size) {
  const Tensor p = normal_tensor({size});
  time_case(state, cpu_sgd_momentum_simd,
            {"sgd_momentum",
             {{"momentum", 0.9}, {"weight_decay", 1e-4}},
             {p, p.clone(), p.clone(), Tensor::scalar(0.1F), Tensor()},
             {p.clone(), p.clone()}});
}

const int kRegistered = [] {
  for (const Layer& layer : kLayers) {
    const auto add = [&](const char* pass, void (*function)(benchmark::State&, const Layer&)) {
      benchmark::RegisterBenchmark(fmt::format("float/{}/{}", pass, layer.name).c_str(),
                                   [function, &layer](benchmark::State& state) { function(state, layer); });
    };
    add("conv2d", forward);
    if (layer.c > 3) add("conv2d_grad_x", grad_x);
    add("conv2d_grad_w", grad_w);
  }
  return 0;
}();

BENCHMARK_CAPTURE(linear, float / 32x10x64, 32, 10, 64);
BENCHMARK_CAPTURE(linear, float / 128x512x512, 128, 512, 512);
BENCHMARK_CAPTURE(batch_norm, float / 128x16x32x32, Dims{128, 16, 32, 32});
BENCHMARK_CAPTURE(batch_norm, float / 128x64x8x8, Dims{128, 64, 8, 8});
BENCHMARK_CAPTURE(batch_norm_grad, float / 128x16x32x32, Dims{128, 16, 32, 32});
BENCHMARK_CAPTURE(batch_norm_grad, float / 128x64x8x8, Dims{128, 64, 8, 8});
BENCHMARK_CAPTURE(bias_grad, float / 128x16x32x32, Dims{128, 16, 32, 32});
BENCHMARK_CAPTURE(bias_grad, float / 128x64x8x8, Dims{128, 64, 8, 8});
BENCHMARK_CAPTURE(max_pool, float / 128x16x32x32, Dims{128, 16, 32, 32});
BENCHMARK_CAPTURE(max_pool_grad, float / 128x16x32x32, Dims{128, 16, 32, 32});
BENCHMARK_CAPTURE(global_average, float / 128x64x8x8, Dims{128, 64, 8, 8});
BENCHMARK_CAPTURE(sgd, float / 1M, int64_t{1} << 20);

}  // namespace
}  // namespace halfstep::kernels
#endif
