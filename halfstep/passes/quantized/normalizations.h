// Normalizations that stay trainable inside the weights of their layers (core/ir/metadata/normalization.h).
#pragma once

#include <vector>

#include "halfstep/core/ir/metadata/normalization.h"
#include "halfstep/passes/canonical/fold_tails.h"

namespace halfstep::passes {

/// Keeps folded normalizations: the tensors before folding join the network, and folded weights and biases become
/// state.
void keep_normalizations(Model& model, const std::vector<FoldedNorm>& folded, bool live);

/// Recomputes folded weights and biases from their source tensors, as fold_tails does.
void settle_normalizations(Model& model);

/// Recomputes them and removes all traces of kept normalizations from the network.
void close_normalizations(Model& model);

/// Builds the form for differentiation: folded weights and biases are computed from their source tensors. After a layer
/// whose normalization is live, sums are divided by the factor again and normalized by the statistics of the batch.
/// Such layers compute in float (FloatOperators).
void open_normalizations(Model& model);

}  // namespace halfstep::passes
