#include "halfstep/train/evaluate/sample_rows.h"

#include <vector>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/quant/platform/step_observers.h"

namespace halfstep::train {
namespace {

bool repeats_a_row(const Tensor& tensor, int64_t rows) {
  if (tensor.dims().empty() || tensor.dims()[0] != rows) return false;
  const Tensor first = tensor.rows(0, 1);
  for (int64_t i = 1; i < rows; ++i) {
    if (!tensor.rows(i, i + 1).same_bits(first)) return false;
  }
  return true;
}

/// The values of these names in the body of `model`, computed without its observers.
Tensors run_for(const Model& model, const std::set<std::string>& names, const Tensors& inputs, ThreadPool& pool) {
  Model form = quant::with_observers(model, [](const ops::ObserveRange&) { return false; });
  std::vector<Value> values;
  for (const std::string& name : names) values.push_back(form.graph.value(name));
  form.graph.set_outputs(std::move(values), {names.begin(), names.end()});
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
  return compile(specialize(form, extents)).run(inputs, pool);
}

}  // namespace

std::set<std::string> rows_of_samples(const Model& observing, const std::map<std::string, passes::Dependence>& depends,
                                      const Tensors& inputs, int64_t at_once, ThreadPool& pool) {
  std::set<std::string> repeated, computed;
  for (const auto& observer : observing.graph.body().all<ops::ObserveRange>()) {
    for (const Value value : observer.x()) {
      if (!value.is_tensor() && !depends.at(value.name()).samples) computed.insert(value.name());
      if (value.is_tensor() && repeats_a_row(passes::contents_of(observing, value), at_once))
        repeated.insert(value.name());
    }
  }
  if (computed.empty()) return repeated;
  for (const auto& [name, tensor] : run_for(observing, computed, inputs, pool)) {
    if (repeats_a_row(tensor, at_once)) repeated.insert(name);
  }
  return repeated;
}

}  // namespace halfstep::train
