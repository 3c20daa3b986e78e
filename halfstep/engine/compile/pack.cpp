#include "halfstep/engine/compile/pack.h"

#include "halfstep/passes/graph/uses.h"

namespace halfstep::compiler {

std::set<std::string> updated_tensors(const Graph& graph) {
  std::set<std::string> names;
  for (const Value tensor : graph.tensors()) {
    if (passes::updater_of(tensor)) names.insert(tensor.name());
  }
  return names;
}

std::set<std::string> frozen_tensors(const Graph& graph, const std::set<std::string>& updated, bool freeze) {
  std::set<std::string> names;
  for (const Value tensor : graph.tensors()) {
    if (freeze && !updated.contains(tensor.name())) names.insert(tensor.name());
  }
  return names;
}

}  // namespace halfstep::compiler
