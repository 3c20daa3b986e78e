#include "halfstep/passes/tensors.h"

namespace halfstep::passes {

Value add_tensor(Model& model, const std::string& hint, Tensor contents, Role role) {
  std::string name = hint;
  for (int64_t number = 2; model.graph.tensor(name); ++number) name = fmt::format("{}.{}", hint, number);
  const Value tensor = model.graph.add_tensor(name, contents.type(), role);
  model.tensors.insert_or_assign(name, std::move(contents));
  return tensor;
}

void erase_tensor(Model& model, Value tensor) {
  const std::string name = tensor.name();
  model.graph.erase_tensor(name);
  model.tensors.erase(name);
}

}  // namespace halfstep::passes
