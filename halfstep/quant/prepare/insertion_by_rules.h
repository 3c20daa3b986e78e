// Places quantizers by a target's insertion rules, in layers that have codes.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/prepare/insertion.h"
#include "halfstep/quant/prepare/preparation.h"

namespace halfstep::quant {

/// Applies the rules to the graph's body, or to the region in its place, whether or not operators can then compute on
/// codes. Then rewrites transposed convolutions as passes/canonical/layers/spatial_forms.h does, and moves their
/// quantizers: one on a result goes to the convolution, one on a weight to the rewritten weight. The numbers stay the
/// same, since operators in between only move them. A layer keeps its form if an export could not return it to its own
/// operator (transposed_again.h), if a normalization behind it stays in training, or if no layer of the target becomes
/// integers. Adds deviations from MQBench to `found`.
Insertion insertion_by_rules(Model& model, const Platform& platform, const PrepareOptions& options,
                             const Requested& requested, Found& found);

}  // namespace halfstep::quant
