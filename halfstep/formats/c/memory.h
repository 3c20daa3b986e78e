// Where values lie in the arena.
#pragma once

#include "halfstep/formats/c/body.h"

namespace halfstep::formats::c {

/// Sets the offsets of the buffers in the arena by the planner of `compile`; the bytes of the arena.
size_t plan_arena(Body& body);

}  // namespace halfstep::formats::c
