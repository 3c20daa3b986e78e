// What rounding may make of a network's outputs.
#pragma once

#include "halfstep/core/machine/parallel.h"
#include "halfstep/fuzz/closeness.h"

namespace halfstep::fuzz {

/// Runs by the reference kernels, with nothing fused; `model` must outlive them. Change 0 has the numbers as they are.
/// Any other multiplies every float by 1 + 16 steps of its type at most: inputs, stored tensors and results. A result
/// of a function of one number changes by a step of that number besides, as terms in it may cancel (1 + erf(x) far
/// below 0). A network with regions keeps its results as they are; throws Skipped where that hides too much.
Perturbed perturbed_runs(const Model& model, const Tensors& inputs, ThreadPool& pool);

}  // namespace halfstep::fuzz
