// Quantized regions of a network, as markers bound them: what lies between an input_nop and an output_nop has codes,
// the rest stays in float.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

/// A copy of the float `model` with an input_nop behind every value that A fits and an output_nop behind every value
/// that B fits, for each "A:B". A and B are patterns as LayerNames has them, of layers or inputs; without A the region
/// begins at the network's inputs, without B it ends at its outputs. Throws where a pattern fits nothing, or the
/// network has markers of its own.
Model with_regions(const Model& model, const std::vector<std::string>& regions);

/// By operation outside of all regions (an input_nop is), why it stays in float; none where there are no markers, or
/// wrong ones.
std::map<const detail::OpNode*, std::string> outside_regions(const Graph& graph);

/// What is said of a branch or a loop is said of the operations in it too.
void include_inner(std::map<const detail::OpNode*, std::string>& reasons, const Graph& graph);

/// What is wrong with the markers of a float network, each with the name of the rule.
std::vector<Diagnostic> objections_to_markers(const Graph& graph);

}  // namespace halfstep::quant
