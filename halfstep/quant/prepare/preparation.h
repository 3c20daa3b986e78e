// Prepares one block of a network: positions and bit widths of its quantizers, and objections.
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

/// Per-layer requests of the user, and facts about rewritten operations.
struct Requested {
  AskedLayers in_float, also;
  std::set<std::string> normalized;  ///< layers with a folded normalization
  std::set<std::string> means;       ///< operators that compute a mean without keep_dims
};

/// Results collected over all blocks of a network.
struct Found {
  bool has_weights = false;                   ///< whether any weight has codes
  std::vector<LayerInFloat> layers_in_float;  ///< candidates for quantized weights, if no weight has codes
  FloatOperators in_float;
  QuantizerReasons quantizers;  ///< by value: the insertion rule that placed its quantizer
  Deviations deviations;
  FirstLastScales first_last_scales;
  std::vector<Diagnostic> objections;
};

/// Whether the first and last layers have bit widths of their own.
bool has_first_last_bits(const Platform& platform, const PrepareOptions& options);

/// Inserts quantizers into the graph's body, or into the region in its place. Objections do not stop it. Enclosing
/// blocks must already have their quantizers.
void prepare_block(Model& model, const Platform& platform, const PrepareOptions& options, const Requested& requested,
                   Found& found);

}  // namespace halfstep::quant
