// Measures how much the outputs of a network depend on the elements of a value.
#pragma once

#include <map>
#include <string>

#include "halfstep/tune/repair/chain.h"

namespace halfstep::repair {

/// Importance of each f32 input of `rest`, the float network after a block, by name. It is the squared derivatives of
/// the f32 outputs in units of their spread, along random signs of the outputs' elements. Its expectation is the
/// diagonal of the Gauss-Newton matrix. BRECQ uses the same quantity of a loss (Li et al., ICLR 2021). The mean over
/// all samples is 1. As in BRECQ's implementation, half of each element is a constant. Throws an Error if an operator
/// has no gradient.
Stores importance_of(const Model& rest, const Stores& inputs, const std::map<std::string, float>& spreads,
                     int64_t at_once, uint64_t seed, StoreRoom& room, ThreadPool& pool);

}  // namespace halfstep::repair
