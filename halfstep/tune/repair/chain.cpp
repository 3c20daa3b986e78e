#include "halfstep/tune/repair/chain.h"

#include <algorithm>

#include "halfstep/train/evaluate/executable.h"

namespace halfstep::repair {
namespace {

void put_all(Stores& stores, const Tensors& values, int64_t begin, int64_t count, int64_t all, StoreRoom& room) {
  for (const auto& [name, tensor] : values) {
    std::shared_ptr<Store>& store = stores[name];
    if (!store) store = std::make_shared<Store>(all, room);
    store->put(begin, count, tensor);
  }
}

}  // namespace

Stores stored_inputs(const data::Samples& samples, int64_t at_once, StoreRoom& room) {
  Stores stores;
  for (int64_t begin = 0; begin < samples.size(); begin += at_once) {
    const int64_t count = std::min(at_once, samples.size() - begin);
    put_all(stores, samples.inputs(begin, count), begin, count, samples.size(), room);
  }
  return stores;
}

Stores run_part(const Model& part, const Stores& inputs, int64_t at_once, StoreRoom& room, ThreadPool& pool) {
  Stores outputs;
  train::BatchRunner runner(part, {}, pool);
  const int64_t all = inputs.begin()->second->size();
  for (int64_t begin = 0; begin < all; begin += at_once) {
    const int64_t end = std::min(begin + at_once, all);
    Tensors given;
    for (const Value argument : part.graph.arguments())
      given[argument.name()] = inputs.at(argument.name())->rows(begin, end);
    put_all(outputs, runner.run(given), begin, end - begin, all, room);
  }
  return outputs;
}

}  // namespace halfstep::repair
