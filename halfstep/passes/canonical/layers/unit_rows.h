// Rows of length 1, as exporters write them.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites x / reduce_l2(x) over the last axis as rms_norm, times 1 / sqrt(count): a normalized row has a length of
/// sqrt(count). A limit of at most 1e-6 that keeps the length from 0 becomes the epsilon, its square divided by count,
/// so a row of zeros stays zeros. Runs before measure_forms, which writes the length alone.
void unit_rows(Model& model);

}  // namespace halfstep::passes
