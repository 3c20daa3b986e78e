#include "halfstep/fuzz/stepwise.h"

#include <map>

#include "halfstep/engine/eager/call.h"

namespace halfstep::fuzz {

Tensors run_stepwise(const Model& model, const Tensors& inputs, const Visit& visit) {
  std::map<const detail::ValueNode*, Tensor> values;
  const auto put = [&](Value value, const Tensor& tensor, std::span<const Tensor> operands) {
    values[value.node()] = visit(value, tensor, operands);
  };
  for (const Value& argument : model.graph.arguments()) put(argument, inputs.at(argument.name()), {});
  for (const auto& [name, tensor] : model.tensors) put(model.graph.tensor(name), tensor, {});
  for (const Op& op : model.graph.ops()) {
    std::vector<Tensor> operands;
    for (const Value& operand : op.operands()) operands.push_back(operand ? values.at(operand.node()) : Tensor());
    const auto results = eager::call(op.info(), op.attributes(), operands);
    for (size_t port = 0; port < results.size(); ++port) {
      if (const Value result = op.out(static_cast<int>(port))) put(result, results[port], operands);
    }
  }
  Tensors outputs;
  const auto& names = model.graph.body().output_names();
  const auto given = model.graph.outputs();
  for (size_t i = 0; i < given.size(); ++i) outputs.emplace(names[i], values.at(given[i].node()));
  return outputs;
}

}  // namespace halfstep::fuzz
