// The range of a value on any device. Internal to engine/runtime.
#pragma once

#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/runtime/device.h"
#include "halfstep/engine/runtime/trace.h"

namespace halfstep::runtime {

/// Range of the value at an address of `device`. Unknown if the value is absent or cannot be fetched.
ValueRange range_of(Device& device, const kernels::View& value);

}  // namespace halfstep::runtime
