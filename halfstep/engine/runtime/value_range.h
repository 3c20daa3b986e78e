// The range of a value on any device. Internal to this room.
#pragma once

#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/runtime/device.h"
#include "halfstep/engine/runtime/trace.h"

namespace halfstep::runtime {

/// Of what lies at an address of `device`; not known where it is absent or cannot be fetched.
ValueRange range_of(Device& device, const kernels::View& value);

}  // namespace halfstep::runtime
