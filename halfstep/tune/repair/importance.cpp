#include "halfstep/tune/repair/importance.h"

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::repair {
namespace {

constexpr int kProbes = 4;

/// The network and its derivatives along the fed gradients of its outputs.
struct Derivatives {
  Model model;
  std::map<std::string, std::string> seeds;      ///< argument by output
  std::map<std::string, std::string> gradients;  ///< output by input
};

Derivatives derivatives_of(const Model& rest, const std::map<std::string, Dims>& extents,
                           const std::map<std::string, float>& spreads) {
  Derivatives result{specialize(rest, extents), {}, {}};
  Graph& graph = result.model.graph;
  std::vector<std::string> wanted;
  for (const Value input : graph.arguments()) {
    if (input.dtype() == DType::f32) wanted.push_back(input.name());
  }
  const std::vector<Value> outputs = graph.outputs();
  const std::vector<std::string> names = graph.body().output_names();
  std::vector<passes::Seed> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!spreads.contains(names[i])) continue;
    const Value seed = passes::add_argument(graph, "seed." + names[i], outputs[i].type());
    result.seeds.emplace(names[i], seed.name());
    seeds.push_back({outputs[i], seed});
  }
  std::vector<Value> found;
  std::vector<std::string> found_names;
  for (const auto& [name, gradient] : passes::autodiff(result.model, seeds, wanted).of) {
    found.push_back(gradient);
    found_names.push_back("gradient of " + name);
    result.gradients.emplace(name, found_names.back());
  }
  graph.set_outputs(std::move(found), std::move(found_names));
  return result;
}

Tensor signs(const Type& type, float spread, Random& random) {
  Tensor tensor(DType::f32, type.dims);
  for (float& one : tensor.data<float>()) one = (random.bits() & 1) != 0 ? 1 / spread : -1 / spread;
  return tensor;
}

/// Sets each element to the mean of its share of the average and the constant 1.
void balance(Store& store) {
  constexpr int64_t kAtOnce = 64;
  double sum = 0;
  int64_t count = 0;
  for (int64_t begin = 0; begin < store.size(); begin += kAtOnce) {
    const Tensor rows = store.rows(begin, std::min(begin + kAtOnce, store.size()));
    for (const float one : rows.data<float>()) sum += double{one};
    count += rows.size();
  }
  const double mean = sum / static_cast<double>(std::max<int64_t>(1, count));
  for (int64_t begin = 0; begin < store.size(); begin += kAtOnce) {
    const int64_t end = std::min(begin + kAtOnce, store.size());
    Tensor rows = store.rows(begin, end);
    for (float& one : rows.data<float>()) one = mean > 0 ? static_cast<float>(0.5 + 0.5 * double{one} / mean) : 1.0F;
    store.put(begin, end - begin, rows);
  }
}

}  // namespace

Stores importance_of(const Model& rest, const Stores& inputs, const std::map<std::string, float>& spreads,
                     int64_t at_once, uint64_t seed, StoreRoom& room, ThreadPool& pool) {
  Stores result;
  Random random(seed, uint64_t{5} << 60);
  const int64_t all = inputs.begin()->second->size();
  for (int64_t begin = 0; begin < all; begin += at_once) {
    const int64_t end = std::min(begin + at_once, all);
    Tensors given;
    std::map<std::string, Dims> extents;
    for (const Value argument : rest.graph.arguments()) {
      given[argument.name()] = inputs.at(argument.name())->rows(begin, end);
      extents[argument.name()] = given[argument.name()].dims();
    }
    const Derivatives derivatives = derivatives_of(rest, extents, spreads);
    runtime::Program program = compile(derivatives.model);
    std::map<std::string, Tensor> squares;
    for (int probe = 0; probe < kProbes; ++probe) {
      for (const auto& [output, argument] : derivatives.seeds)
        given[argument] = signs(derivatives.model.graph.value(argument).type(), spreads.at(output), random);
      for (auto& [name, gradient] : program.run(given, pool)) {
        Tensor& sum = squares.try_emplace(name, DType::f32, gradient.dims()).first->second;
        const auto to = sum.data<float>();
        const auto from = std::as_const(gradient).data<float>();
        for (size_t i = 0; i < to.size(); ++i) to[i] += from[i] * from[i];
      }
    }
    for (const auto& [input, output] : derivatives.gradients) {
      std::shared_ptr<Store>& store = result[input];
      if (!store) store = std::make_shared<Store>(all, room);
      store->put(begin, end - begin, squares.at(output));
    }
  }
  for (const auto& [name, store] : result) balance(*store);
  return result;
}

}  // namespace halfstep::repair
