// Cost of a call of a captured function, and of a captured training step of the digit network beside the compiled
// program's (training.cpp).
#include <benchmark/benchmark.h>

#include <map>

#include "halfstep/api/inputs/dataset.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/call_kind.h"
#include "halfstep/engine/capture/function.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/engine/eager/team.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace {

using namespace halfstep;
using capture::Arrays;

constexpr int64_t kBatch = 32;
constexpr int kBefore = 2;  ///< calls: the first one captures, the second one compiles

/// The digit network in training, as operators on arrays.
class Digits {
 public:
  Digits() : model_(train::create_network("digits", {1, 8, 8}, 10, 0)) {
    for (const Value tensor : model_.graph.tensors()) {
      Array& array = arrays_[tensor.node()] = Array(model_.tensors.at(tensor.name()).clone());
      if (tensor.role() != Role::parameter) continue;
      array.require_gradient();
      parameters_.push_back(array);
      velocities_.push_back(capture::full(array.type(), 0));
    }
  }

  Array loss(const Array& x, const Array& labels) {
    arrays_[model_.graph.arguments()[0].node()] = x;
    for (const Op op : model_.graph.ops()) run(op);
    return capture::apply("softmax_cross_entropy", {arrays_.at(model_.graph.outputs()[0].node()), labels});
  }

  void update() {
    const capture::Switched without(capture::without_gradients());
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Array operands[] = {parameters_[i], parameters_[i].gradient(), velocities_[i], rate_};
      const Arrays next = capture::apply(ops::SgdMomentum::record(), {}, operands);
      parameters_[i].assign(next[0]);
      velocities_[i].assign(next[1]);
      parameters_[i].set_gradient({});
    }
  }

 private:
  void run(Op op) {
    Arrays operands;
    for (const Value operand : op.operands()) operands.push_back(operand ? arrays_.at(operand.node()) : Array());
    Attributes attributes = op.attributes();
    if (attributes.contains("is_test")) attributes["is_test"] = false;
    const Arrays results = capture::apply(op.info(), attributes, operands);
    arrays_[op.out(0).node()] = results[0];
    const capture::Switched without(capture::without_gradients());
    for (size_t port = 1; port < results.size(); ++port) {
      const int state = op.info().outputs[port].state_of;
      if (results[port] && state >= 0) arrays_.at(op.in(state).node()).assign(results[port]);
    }
  }

  Model model_;
  std::map<const detail::ValueNode*, Array> arrays_;
  Arrays parameters_, velocities_;
  const Array rate_ = capture::full({DType::f32, {1}}, 0.001);
};

void captured_step(benchmark::State& state, bool captures) {
  eager::set_threads(static_cast<int>(state.range(0)));
  Digits digits;
  capture::Function step([&](const Arrays& in) -> Arrays {
    const Array loss = digits.loss(in[0], in[1]);
    capture::backward(loss);
    digits.update();
    return {loss};
  });
  const data::Dataset data = data::digits();
  const Array x = capture::uniform({kBatch, 1, 8, 8});
  const Array labels(data::split(data).train.labels(0, kBatch));
  capture::Switches now = capture::switches();
  now.captures = captures;
  const capture::Switched with(now);
  for (int call = 0; call < kBefore; ++call) (void)step({x, labels});
  for (auto _ : state) benchmark::DoNotOptimize(step({x, labels}));
  state.SetItemsProcessed(state.iterations() * kBatch);
  eager::set_threads(0);
}

void captured_call(benchmark::State& state) {
  const Array x = capture::uniform({4});
  capture::Function function([](const Arrays& in) -> Arrays { return {capture::apply("add", {in[0], in[0]})}; });
  for (int call = 0; call < kBefore; ++call) (void)function({x});
  for (auto _ : state) benchmark::DoNotOptimize(function({x}));
}

void guards_of_three_arrays(benchmark::State& state) {
  const Arrays arrays = {capture::uniform({4}), capture::uniform({4, 3}), capture::uniform({2, 3, 4})};
  const capture::CallKind kind(arrays);
  for (auto _ : state) benchmark::DoNotOptimize(kind.mismatch(arrays));
}

BENCHMARK_CAPTURE(captured_step, captured, true)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(captured_step, step_by_step, false)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(captured_call);
BENCHMARK(guards_of_three_arrays);

}  // namespace
