#include "halfstep/engine/capture/captured_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/engine/capture/moved_parameters.h"
#include "halfstep/engine/capture/tracing.h"
#include "halfstep/passes/graph/prune_regions.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::capture {
namespace {

/// An array of this type, without elements.
Array example(const Type& type) {
  Content content{type};
  content.origin = "an input of a network";
  return Array(std::make_shared<const Content>(std::move(content)));
}

Value add_tensor(Model& model, const Array& array, const std::string& name) {
  const Role role = array.requires_gradient() ? Role::parameter : Role::constant;
  return passes::add_tensor(model, name.empty() ? "constant" : name, array.content()->tensor.clone(), role);
}

/// Makes regions read tensors directly instead of through an argument, as in imported files. Passes then see weights as
/// weights.
void read_tensors_in_regions(Graph& graph) {
  for (const Op op : graph.all_ops()) {
    if (op.regions().empty()) continue;
    const FlowParts parts(op);
    const std::vector<Value> operands = op.operands();
    for (size_t i = parts.states + parts.scanned; i < parts.taken(); ++i) {
      const Value operand = operands[parts.first + i];
      if (!operand.is_tensor()) continue;
      for (const auto& region : op.regions()) region->arguments()[i].replace_all_uses_with(operand);
    }
  }
  passes::prune_regions(graph);
}

}  // namespace

Model network_of(const std::string& name, const std::vector<NetworkInput>& inputs,
                 const std::function<Arrays(const Arrays&)>& body, const std::vector<std::string>& output_names,
                 const std::function<std::string(const Array&)>& name_of) {
  Trace trace(Trace::Kind::region, fmt::format("network '{}'", name));
  Arrays arguments;
  for (const NetworkInput& input : inputs) arguments.push_back(trace.argument(example(input.type)));
  const Arrays results = body(arguments);
  trace.leave();
  Model model;
  model.graph.set_name(name);
  std::unordered_map<const detail::ValueNode*, Value> stand_ins;
  for (size_t i = 0; i < trace.arguments().size(); ++i) {
    const Value argument = trace.graph_arguments()[i];
    stand_ins.emplace(argument.node(), i < inputs.size()
                                           ? model.graph.add_argument(inputs[i].name, inputs[i].type)
                                           : add_tensor(model, trace.arguments()[i], name_of(trace.arguments()[i])));
  }
  std::vector<Value> outputs;
  for (const Array& result : results) outputs.push_back(trace.value_of(result));
  const auto stand_in = [&](Value value) {
    Value& made = stand_ins[value.node()];
    if (!made) made = passes::add_tensor(model, value.name(), trace.model().tensors.at(value.name()), Role::constant);
    return made;
  };
  copy_into(trace.model().graph.body(), model.graph.body(), stand_in, outputs);
  model.graph.set_outputs(model.graph.outputs(), output_names);
  read_tensors_in_regions(model.graph);
  store_moved_parameters(model);
  verify(model.graph);
  return model;
}

}  // namespace halfstep::capture
