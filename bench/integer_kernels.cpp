// Layers on codes on one thread. The integer program's kernels at every level and the training kernels are compared
// with oneDNN, called directly on layouts of its choice. oneDNN's time includes neither the conversion of codes to
// these layouts nor requantization (bench --benchmark_filter=codes).
#include <dnnl.hpp>

#include "bench/kernel_bench.h"
#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/ops.h"

extern "C" void omp_set_num_threads(int count);  // Some compilers that build Halfstep have no omp.h.

namespace halfstep::kernels {
namespace {

struct Layer {
  const char* name;
  int64_t n, c, size, o, k, groups = 1;

  double operations() const { return 2.0 * static_cast<double>(n * o * size * size * (c / groups) * k * k); }
  Dims x_dims() const { return {n, c, size, size}; }
  Dims w_dims() const { return {o, c / groups, k, k}; }
  Dims out_dims() const { return {n, o, size, size}; }
  Dims x_last() const { return {n, size, size, c}; }
  Dims out_last() const { return {n, size, size, o}; }
  Attributes attributes() const {
    return {{"groups", groups},
            {"stride", std::vector<int64_t>{1, 1}},
            {"dilation", std::vector<int64_t>{1, 1}},
            {"pad", std::vector<int64_t>(4, k / 2)},
            {"layout", std::string("channels_last")},
            {"requantize", std::string("fixed_point")},
            {"shift_rounding", std::string("half_up")},
            {"code_min", int64_t{0}},
            {"code_max", int64_t{255}},
            {"code_type", std::string("u8")}};
  }
};

const Layer kLayers[] = {
    {"c64_32x32_batch_16", 16, 64, 32, 64, 3},         {"c64_32x32_batch_1", 1, 64, 32, 64, 3},
    {"c256_14x14_1x1", 16, 256, 14, 256, 1},           {"digits_32_8x8", 64, 32, 8, 32, 3},
    {"digits_depthwise_32_8x8", 64, 32, 8, 32, 3, 32},
};

Tensor random_codes(DType dtype, const Dims& dims) {
  Tensor tensor(dtype, dims);
  Random random(1, 0);
  for (size_t i = 0; i < tensor.bytes(); ++i) tensor.raw()[i] = static_cast<std::byte>(random.below(256));
  return tensor;
}

Tensor filled(int64_t size, int32_t value) {
  const std::vector<int32_t> values(static_cast<size_t>(size), value);
  return Tensor::of<int32_t>(DType::i32, {size}, values);
}

void count_operations(benchmark::State& state, const Layer& layer, double seconds) {
  if (seconds > 0) state.counters["GOP/s"] = layer.operations() / seconds * 1e-9;
}

void integer(benchmark::State& state, const Layer& layer, const Kernel& kernel, CpuLevel level) {
  const auto factor = arith::to_multiplier(0.001, 31);
  BenchCase use{"integer_conv2d", layer.attributes(), {}, {Tensor(DType::u8, layer.out_last())}};
  use.attributes["x_zero_point"] = int64_t{7};
  use.attributes["y_zero_point"] = int64_t{100};
  use.in = {random_codes(DType::u8, layer.x_last()),
            random_codes(DType::i8, layer.w_dims()),
            filled(layer.o, 0),
            filled(layer.o, factor->shift),
            filled(layer.o, factor->m),
            {},
            {}};
  use.constants = {1, 2, 3, 4};
  use.bytes = static_cast<double>(use.in[0].bytes() + use.in[1].bytes() + use.out[0].bytes());
  count_operations(state, layer, time_kernel(state, kernel, use, level));
}

void quantized(benchmark::State& state, const Layer& layer, const Kernel& kernel) {
  BenchCase use{
      "quantized_conv2d",
      layer.attributes(),
      {},
      {Tensor(DType::u8, layer.out_dims()), Tensor(DType::i32, layer.out_dims()), Tensor(DType::i32, {2, layer.o})}};
  use.attributes["activation"] = std::string("relu");
  use.attributes["alpha"] = 0.01;
  use.attributes["multiplier_bits"] = int64_t{31};
  use.attributes["gradient_scale"] = 1.0;
  use.attributes["is_test"] = false;
  use.in = {random_codes(DType::u8, layer.x_dims()),
            Tensor::scalar(0.1F),
            Tensor::scalar(7),
            random_codes(DType::i8, layer.w_dims()),
            Tensor::scalar(0.01F),
            {},
            Tensor::scalar(1.0F),
            Tensor::scalar(100)};
  use.bytes = static_cast<double>(use.in[0].bytes() + use.in[3].bytes() + use.out[0].bytes() + use.out[1].bytes());
  count_operations(state, layer, time_kernel(state, kernel, use));
}

/// Plain sums u8 x s8 -> s32.
void direct(benchmark::State& state, const Layer& layer) {
  using dnnl::memory;
  omp_set_num_threads(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto any = memory::format_tag::any;
  const memory::dims filter =
      layer.groups > 1 ? memory::dims{layer.groups, layer.o / layer.groups, layer.c / layer.groups, layer.k, layer.k}
                       : memory::dims{layer.o, layer.c, layer.k, layer.k};
  const memory::dim pad = layer.k / 2;
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      memory::desc(layer.x_dims(), memory::data_type::u8, any), memory::desc(filter, memory::data_type::s8, any),
      memory::desc(layer.out_dims(), memory::data_type::s32, any), {1, 1}, {0, 0}, {pad, pad}, {pad, pad});
  const dnnl::convolution_forward::primitive_desc chosen(desc, engine);
  const dnnl::convolution_forward convolution(chosen);
  const memory x(chosen.src_desc(), engine), w(chosen.weights_desc(), engine), out(chosen.dst_desc(), engine);
  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    convolution.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, out}});
    stream.wait();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  count_operations(state, layer, best);
  state.SetLabel(chosen.impl_info_str());
}

const int kRegistered = [] {
  for (const Layer& layer : kLayers) {
    const std::string name = std::string("codes/") + layer.name;
    const bool is_depthwise = layer.groups > 1;
    for (const CpuLevel level : available_cpu_levels()) {
      if (level == CpuLevel::scalar) continue;
      const Kernel& kernel = is_depthwise             ? cpu_integer_conv2d_depthwise
                             : level == CpuLevel::amx ? cpu_integer_conv2d_amx
                                                      : cpu_integer_conv2d_tiles;
      benchmark::RegisterBenchmark(
          (name + "/integer/" + kernel.name + "/" + std::string(halfstep::name(level))).c_str(), integer, layer, kernel,
          level);
    }
    for (const Kernel* kernel : {&cpu_quantized_conv2d_onednn_int8, &cpu_quantized_conv2d_onednn_f32})
      benchmark::RegisterBenchmark((name + "/quantized/" + kernel->name).c_str(), quantized, layer, *kernel);
    benchmark::RegisterBenchmark((name + "/onednn_directly").c_str(), direct, layer);
  }
  return 0;
}();

}  // namespace
}  // namespace halfstep::kernels
