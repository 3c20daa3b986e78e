#include "halfstep/compile/pack.h"

#include "halfstep/passes/uses.h"

namespace halfstep::compiler {

std::set<std::string> frozen_tensors(const Graph& graph, bool freeze) {
  std::set<std::string> names;
  for (const Value tensor : graph.tensors()) {
    if (!passes::updater_of(tensor) && freeze) names.insert(tensor.name());
  }
  return names;
}

}  // namespace halfstep::compiler
