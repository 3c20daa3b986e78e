#include "halfstep/engine/eager/call.h"

#include "halfstep/core/base/small_vector.h"
#include "halfstep/engine/eager/cache.h"

namespace halfstep::eager {
namespace {

Cache& process_cache() {
  static auto* cache = new Cache;  // calls may come while static objects are destroyed
  return *cache;
}

}  // namespace

std::shared_ptr<const Prepared> remembered(const Signature& signature) { return process_cache().find(signature); }

std::shared_ptr<const Prepared> prepare(const Signature& signature, const OpInfo& info, const Attributes& attributes,
                                        std::span<const kernels::ConstView> operands) {
  auto prepared = std::make_shared<const Prepared>(info, attributes, operands);
  process_cache().insert(signature, prepared);
  return prepared;
}

std::vector<Tensor> call(const OpInfo& info, const Attributes& attributes, std::span<const Tensor> operands) {
  const size_t fixed = info.inputs.size() - (info.has_variadic_input() ? 1 : 0);
  SmallVector<kernels::ConstView> in(std::max(operands.size(), fixed));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].defined()) in[i] = {operands[i].raw(), operands[i].dtype(), operands[i].dims()};
  }
  const Signature signature = signature_of(info, attributes, in.all());
  std::shared_ptr<const Prepared> prepared = remembered(signature);
  if (prepared == nullptr) prepared = prepare(signature, info, attributes, in.all());

  const auto& types = prepared->results();
  std::vector<Tensor> results(types.size());
  SmallVector<kernels::View> out(types.size());
  for (size_t port = 0; port < types.size(); ++port) {
    if (!types[port]) continue;
    results[port] = Tensor::uninitialized(types[port]->dtype, types[port]->dims);
    out[port] = {results[port].raw(), types[port]->dtype, results[port].dims()};
  }
  prepared->run(in.all(), out.all());
  return results;
}

}  // namespace halfstep::eager
