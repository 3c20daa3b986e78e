// One training step of the digit network: float beside fine-tuning on codes, in the same run.
#include <benchmark/benchmark.h>

#include <memory>

#include "halfstep/api/inputs/dataset.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/train/loop/training_graph.h"

namespace {

using namespace halfstep;

constexpr int64_t kBatch = 32;

/// The network on the embedded digits, in float, or prepared for a platform and calibrated.
struct Step {
  data::Dataset data = data::digits();
  data::TrainTest parts = data::split(data);
  ThreadPool pool;
  std::unique_ptr<runtime::Program> program;

  Step(const char* platform, int threads) : pool(threads) {
    parts.train.argument = "x";
    parts.train.preprocess.scale = 1.0F / 16;
    Model model = train::create_network("digits", data.sample_dims(), 10, 0);
    if (platform != nullptr) {
      model = quant::prepare(model, quant::load_platform(platform));
      train::calibrate(model, parts.train, {}, pool);
    }
    CompileOptions options;
    options.freeze_tensors = false;
    program = std::make_unique<runtime::Program>(
        compile(train::training_graph(model, {{"x", {kBatch, 1, 8, 8}}}, train::Loss::labels, {}, {}), options));
  }
};

void training_step(benchmark::State& state, const char* platform) {
  Step step(platform, static_cast<int>(state.range(0)));
  Tensors inputs = step.parts.train.inputs(0, kBatch);
  inputs.emplace(train::kLabels, step.parts.train.labels(0, kBatch));
  inputs.emplace(passes::kLearningRate, Tensor::scalar(0.001F));
  Tensors outputs;
  for (auto _ : state) step.program->run_into(inputs, outputs, step.pool);
  state.SetItemsProcessed(state.iterations() * kBatch);
}

BENCHMARK_CAPTURE(training_step, float, nullptr)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(training_step, generic_int8, "generic_int8")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(training_step, magik_t40, "magik_t40")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
