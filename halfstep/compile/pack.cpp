#include "halfstep/compile/pack.h"

#include "halfstep/base/status.h"

namespace halfstep::compiler {

Op updater_of(Value tensor) {
  Op updater;
  for (const auto& [op, operand] : tensor.uses()) {
    for (const Value result : op.results()) {
      if (op.info().outputs[static_cast<size_t>(result.port())].state_of != operand) continue;
      if (updater) {
        fail("{}: tensor '{}' is updated by node '{}' and by node '{}', expected one", op.where(), tensor.name(),
             updater.name(), op.name());
      }
      updater = op;
    }
  }
  return updater;
}

std::set<std::string> frozen_tensors(const Graph& graph, bool freeze) {
  std::set<std::string> names;
  for (const Value tensor : graph.tensors()) {
    if (!updater_of(tensor) && freeze) names.insert(tensor.name());
  }
  return names;
}

}  // namespace halfstep::compiler
