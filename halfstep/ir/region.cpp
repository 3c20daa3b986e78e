#include "halfstep/ir/region.h"

namespace halfstep {

Model region_model(const Model& model, const Block& region, std::string name) {
  Model made{region_graph(region, std::move(name)), {}, model.notes, {}};
  for (const Value tensor : made.graph.tensors()) made.tensors.emplace(tensor.name(), model.tensors.at(tensor.name()));
  return made;
}

}  // namespace halfstep
