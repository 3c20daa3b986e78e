// Normalizations that stay trainable inside the weights of their layers (core/ir/metadata/normalization.h).
#pragma once

#include <vector>

#include "halfstep/core/ir/metadata/normalization.h"
#include "halfstep/passes/canonical/fold_tails.h"

namespace halfstep::passes {

/// Keeps what was folded: the tensors before folding join the network, and the folded weights and biases become state.
void keep_normalizations(Model& model, const std::vector<FoldedNorm>& folded, bool live);

/// Folded weights and biases made anew of what they are made of, as fold_tails makes them.
void settle_normalizations(Model& model);

/// The same for good: the network is as if nothing of its normalizations had been kept.
void close_normalizations(Model& model);

/// The form that gradients are taken of: folded weights and biases are computed of what they are made of; behind a
/// layer whose normalization is live its sums are divided by the factor again and normalized by the batch's statistics.
/// Such layers compute in float (FloatOperators).
void open_normalizations(Model& model);

}  // namespace halfstep::passes
