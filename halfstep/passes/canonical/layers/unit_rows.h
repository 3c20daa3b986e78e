// Rows of length 1, as exporters write them.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites x / reduce_l2(x) over the last axis as rms_norm without epsilon, times 1 / sqrt(count): a normalized row
/// has a length of sqrt(count). A limit of at most 1e-6 that only keeps the length from 0 is dropped, so a row of zeros
/// becomes NaN in float. Runs before measure_forms, which writes the length alone.
void unit_rows(Model& model);

}  // namespace halfstep::passes
