// Checks masks that preparation assumes to hold only 0 and large negative numbers.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// Attention masks are often a product with a large negative number, such as (1 - mask) * -10000. If the mask has only
/// zeros and ones, the product is 0 or hides a score. The sum with it then uses it only to find the hidden scores.
/// Throws (unsupported) if such a mask of `prepared` has other numbers for the first samples.
void require_hiding_masks(const Model& prepared, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::train
