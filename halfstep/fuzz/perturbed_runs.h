// Estimates the effect of rounding on a network's outputs.
#pragma once

#include "halfstep/core/machine/parallel.h"
#include "halfstep/fuzz/closeness.h"

namespace halfstep::fuzz {

/// Runs with reference kernels, without fusion. `model` must outlive the result. Change 0 leaves all numbers unchanged.
/// Any other change multiplies every float (inputs, stored tensors and results) by 1 plus at most 16 steps of its type.
/// The result of a one-argument function also changes by one step of the argument, because its terms may cancel (1 +
/// erf(x) far below 0). In a network with regions, only inputs and stored tensors change. Throws Skipped if this hides
/// too much.
Perturbed perturbed_runs(const Model& model, const Tensors& inputs, ThreadPool& pool);

}  // namespace halfstep::fuzz
