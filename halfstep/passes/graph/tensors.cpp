#include "halfstep/passes/graph/tensors.h"

#include <fmt/format.h>

#include "halfstep/passes/graph/errors.h"

namespace halfstep::passes {

Value add_tensor(Model& model, const std::string& hint, Tensor contents, Role role) {
  std::string name = hint;
  for (int64_t number = 2; model.graph.tensor(name); ++number) name = fmt::format("{}.{}", hint, number);
  const Value tensor = model.graph.add_tensor(name, contents.type(), role);
  model.tensors.insert_or_assign(name, std::move(contents));
  return tensor;
}

const Tensor& contents_of(const Model& model, Value tensor) {
  if (!tensor.is_tensor()) fail(errors::contents_of_computed_value(model.graph.name(), tensor.name()));
  return model.tensors.at(tensor.name());
}

Tensor& own_contents(Model& model, const std::string& tensor) {
  Tensor& contents = model.tensors.at(tensor);
  return contents = contents.clone();
}

Value add_argument(Graph& graph, const std::string& name, Type type) {
  const Value taken = graph.value(name);
  if (taken && !taken.producer()) fail(errors::added_input_name_taken(graph.name(), name));
  if (taken) graph.rename(taken.producer(), graph.unique_name(taken.producer().name() + "_"));
  return graph.add_argument(name, std::move(type));
}

void erase_tensor(Model& model, Value tensor) {
  model.graph.erase_tensor(tensor.name());  // the node stays, and its name
  model.tensors.erase(tensor.name());
}

}  // namespace halfstep::passes
