// The quantizers of one block of a network: where they go, how wide they are, and what stands in the way.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/quant/prepare/code_plan.h"
#include "halfstep/quant/prepare/no_layer.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::quant {

/// What somebody asks for of single operations, and what became of a network.
struct Requested {
  AskedLayers in_float, also;
  std::set<std::string> normalized;  ///< layers that took a normalization in
  std::set<std::string> means;       ///< operators that give a mean without the axes that it is over
};

/// What is found out about a network, block by block.
struct Found {
  bool has_weights = false;                   ///< that have codes
  std::vector<LayerInFloat> layers_in_float;  ///< where there are none
  FloatOperators in_float;
  QuantizerReasons quantizers;  ///< by value, which of the target's rules put a quantizer there
  Deviations deviations;
  EdgeScales edge_scales;
  std::vector<Diagnostic> objections;
};

/// Puts quantizers into the graph's body, or into the region in its place, whatever stands in the way. The blocks
/// around a region have theirs already.
void prepare_block(Model& model, const Platform& platform, const PrepareOptions& options, const Requested& requested,
                   Found& found);

}  // namespace halfstep::quant
