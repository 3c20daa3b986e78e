// Masks that preparation takes for ones that only hide.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// A product by a number that hides, as (1 - mask) * -10000, is 0 where nothing is hidden, if the mask has zeros and
/// ones: then sums with it take no part of it but what it hides. Throws unsupported where such a mask of `prepared` has
/// other numbers on the first samples.
void require_hiding_masks(const Model& prepared, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::train
