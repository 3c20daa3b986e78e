// Cost of a direct call of a small operator.
#include <benchmark/benchmark.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/eager/call.h"

namespace halfstep {
namespace {

void call_relu(benchmark::State& state) {
  const std::vector<Tensor> operands = {Tensor(DType::f32, {state.range(0)})};
  for (auto _ : state) benchmark::DoNotOptimize(eager::call(ops::Relu::record(), {}, operands));
}
BENCHMARK(call_relu)->Arg(1)->Arg(1 << 10)->Arg(1 << 18)->UseRealTime();

/// Three operands, attributes, one result.
void call_fake_quantize(benchmark::State& state) {
  const std::vector<Tensor> operands = {Tensor(DType::f32, {state.range(0)}), Tensor::scalar(0.1F), Tensor::scalar(0)};
  const Attributes attributes = {
      {"code_min", int64_t{-128}}, {"code_max", int64_t{127}}, {"code_type", std::string("i8")}};
  for (auto _ : state) benchmark::DoNotOptimize(eager::call(ops::FakeQuantize::record(), attributes, operands));
}
BENCHMARK(call_fake_quantize)->Arg(1)->Arg(1 << 10)->Arg(1 << 18)->Arg(1 << 24)->UseRealTime();

/// Two results.
void call_channel_wise(benchmark::State& state) {
  const OpInfo& info = ops::FakeChannelWiseQuantizeDequantizeAbsMax::record();
  const std::vector<Tensor> operands = {Tensor(DType::f32, {1, state.range(0)})};
  for (auto _ : state) benchmark::DoNotOptimize(eager::call(info, {{"bit_length", int64_t{8}}}, operands));
}
BENCHMARK(call_channel_wise)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace halfstep
