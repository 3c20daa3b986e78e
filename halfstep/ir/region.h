// A region as a network of its own, for whatever works on networks.
#pragma once

#include <functional>
#include <string>

#include "halfstep/ir/model.h"

namespace halfstep {

/// The arguments, operations and outputs of a region under their names, and the tensors that they read or update.
/// Outputs are called by their place: "0", "1", ...
Graph region_graph(const Block& region, std::string name);

/// The same with the contents of the tensors, which are shared.
Model region_model(const Model& model, const Block& region, std::string name);

/// Gives `to`, an operation without regions, copies of those of `from` in another graph; `tensor_of` says what stands
/// for a tensor there. Its results are there afterwards.
void copy_regions(Op from, Op to, const std::function<Value(Value tensor)>& tensor_of);

}  // namespace halfstep
