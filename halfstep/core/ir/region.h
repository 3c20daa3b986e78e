// Regions as separate networks, for code that works on whole networks.
#pragma once

#include <functional>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep {

/// Returns a graph with the region's arguments, operations, outputs and referenced tensors, with unchanged names.
/// Outputs are named by position: "0", "1", ...
Graph region_graph(const Block& region, std::string name);

/// Returns region_graph together with the contents of its tensors, which are shared.
Model region_model(const Model& model, const Block& region, std::string name);

/// Fills the regions of `to`, an operation without regions, with copies of the bodies of `graphs`. Arguments and
/// outputs of each graph must match its region. `tensor_of` maps tensors of the graphs to tensors of the target.
/// Creates the results of `to`.
void make_regions(Op to, const std::vector<Graph>& graphs, const std::function<Value(Value tensor)>& tensor_of);

/// Calls `run` on the graph, and once for each region, outermost first, with the region in the place of the body. Code
/// for a body can so process regions. `graph.body().parent()` is the operation that holds the region, or null.
void in_each_block(Graph& graph, const std::function<void()>& run);

/// Appends copies of the operations of `from` to `to`, a block of the same or of another graph. Names are made unique.
/// Copies of `outputs` become the outputs of `to`. `stand_in` maps arguments and tensors of `from` to values of the
/// target.
void copy_into(const Block& from, Block& to, const std::function<Value(Value)>& stand_in,
               const std::vector<Value>& outputs);

}  // namespace halfstep
