// A region as a network of its own, for whatever works on networks.
#pragma once

#include <functional>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep {

/// The arguments, operations and outputs of a region under their names, and the tensors that they read or update.
/// Outputs are called by their place: "0", "1", ...
Graph region_graph(const Block& region, std::string name);

/// The same with the contents of the tensors, which are shared.
Model region_model(const Model& model, const Block& region, std::string name);

/// Gives `to`, an operation without regions, copies of the bodies of `graphs`, which have the arguments and outputs of
/// its regions; `tensor_of` says what stands for a tensor of theirs. Its results are there afterwards.
void make_regions(Op to, const std::vector<Graph>& graphs, const std::function<Value(Value tensor)>& tensor_of);

/// Calls `run` with the graph as it is, and once with each region, outermost first, in the place of the body: what
/// works on a body works on regions so. `graph.body().parent()` is the operation that holds the region, or null.
void in_each_block(Graph& graph, const std::function<void()>& run);

/// Appends copies of the operations of `from` to `to`, a block of the same graph or of another one, under names that
/// are free there, and makes copies of `outputs` its outputs. `stand_in` says what stands for an argument or a tensor
/// there.
void copy_into(const Block& from, Block& to, const std::function<Value(Value)>& stand_in,
               const std::vector<Value>& outputs);

}  // namespace halfstep
