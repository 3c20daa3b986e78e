// Quantized regions that markers bound. Operations between an input_nop and an output_nop have codes, all others stay
// in float.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

/// A copy of the float `model` with markers for each region "A:B". An input_nop follows every value that A matches, and
/// an output_nop follows every value that B matches. A and B are patterns of layers or inputs, see LayerNames. Without
/// A the region begins at the network's inputs, without B it ends at its outputs. Throws if a pattern matches nothing,
/// or if the network already has markers.
Model with_regions(const Model& model, const std::vector<std::string>& regions);

/// For each operation outside of all regions, the reason why it stays in float. Begin markers (input_nop) are outside.
/// Empty if there are no markers, or wrong ones.
std::map<const detail::OpNode*, std::string> outside_regions(const Graph& graph);

/// Copies the reason of a branch or loop to the operations in it.
void include_inner(std::map<const detail::OpNode*, std::string>& reasons, const Graph& graph);

/// All mistakes in the markers of a float network, each with the name of the rule.
std::vector<Diagnostic> objections_to_markers(const Graph& graph);

}  // namespace halfstep::quant
