// Visits values inside the branches and loops of the float network, for each execution.
#pragma once

#include <cstdint>
#include <functional>

#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// Calls `see` for each activation quantizer inside of branches and loops and each execution of its region, in order,
/// with its place and its input. Returns the number of executions that were left out because the region arguments of
/// all samples need too much memory.
int64_t see_inside(const FloatNetwork& network, const Trial& trial,
                   const std::function<void(size_t place, const Tensor& values)>& see);

}  // namespace halfstep::sensitivity
