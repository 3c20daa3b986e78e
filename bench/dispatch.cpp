// Cost of an instruction in addition to its kernel: a program of empty kernels, as a chain and as independent
// instructions.
#include <benchmark/benchmark.h>

#include "halfstep/engine/runtime/program.h"

namespace halfstep {
namespace {

constexpr int kInstructions = 1000;
enum Shape { kChain, kIndependent };

Status nothing(const kernels::Call&, int, int64_t) { return {}; }
constexpr kernels::Kernel kEmpty{"empty", nullptr, nullptr, nothing};

runtime::Program empty_program(Shape shape) {
  runtime::ProgramSpec spec;
  spec.name = "empty";
  const Place cpu{DeviceKind::cpu, 0};
  spec.arenas[cpu] = kAlignment;
  for (int i = 0; i < kInstructions; ++i) {
    spec.slots.push_back({fmt::format("v{}", i), {DType::f32, {1}}, cpu});
    runtime::Instruction instruction;
    instruction.name = instruction.op = "empty";
    instruction.place = cpu;
    instruction.kernel = &kEmpty;
    instruction.out = {{i, "out"}};
    if (shape == kChain && i > 0) {
      instruction.in = {{i - 1, "x"}};
      instruction.data_dependencies = {i - 1};
    }
    spec.instructions.push_back(std::move(instruction));
  }
  return {std::move(spec), {}};
}

void dispatch(benchmark::State& state, Shape shape) {
  runtime::Program program = empty_program(shape);
  ThreadPool pool(static_cast<int>(state.range(0)));
  std::map<std::string, Tensor> outputs;
  for (auto _ : state) program.run_into({}, outputs, pool);
  state.counters["per_instruction"] =
      benchmark::Counter(kInstructions, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(dispatch, chain, kChain)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(dispatch, independent, kIndependent)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace halfstep
