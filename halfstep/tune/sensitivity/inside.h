// Values of the float network in branches and loops, each time that a run makes them.
#pragma once

#include <cstdint>
#include <functional>

#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// Calls `see` with what comes to the quantizers of features that are inside of branches and loops: of which place, and
/// the values of one time that a run comes to it, in order. Returns how many times were left out, because what regions
/// take of all samples is too much to keep.
int64_t see_inside(const FloatNetwork& network, const Trial& trial,
                   const std::function<void(size_t place, const Tensor& values)>& see);

}  // namespace halfstep::sensitivity
