// Positions of values in the arena.
#pragma once

#include "halfstep/formats/c/body.h"

namespace halfstep::formats::c {

/// Sets the offsets of the buffers in the arena with the planner of `compile`. Returns the bytes of the arena.
size_t plan_arena(Body& body);

}  // namespace halfstep::formats::c
