// How much the outputs of a network depend on the elements of a value.
#pragma once

#include <map>
#include <string>

#include "halfstep/tune/repair/chain.h"

namespace halfstep::repair {

/// For each f32 input of `rest`, the float network behind a block, by name: the squared derivatives of its f32 outputs
/// in units of their spread, along random signs over the outputs' elements, which is the diagonal of the Gauss-Newton
/// matrix in the mean (BRECQ weighs by the same of a loss; Li et al., ICLR 2021). Each is 1 in the mean of all samples,
/// half of it the derivatives' share and half a constant, as BRECQ's implementation has it. Throws a Error where an
/// operator has no gradient.
Stores importance_of(const Model& rest, const Stores& inputs, const std::map<std::string, float>& spreads,
                     int64_t at_once, uint64_t seed, StoreRoom& room, ThreadPool& pool);

}  // namespace halfstep::repair
