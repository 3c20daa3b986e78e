// Arrays of random numbers.
#pragma once

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

/// Restarts the random numbers of this process. The same seed gives the same numbers in the order in which they are
/// drawn, in captured functions too.
void seed(uint64_t value);

/// f32, uniform in [low, high).
Array uniform(const Dims& dims, double low = 0, double high = 1);
/// f32, normally distributed.
Array normal(const Dims& dims, double mean = 0, double deviation = 1);

/// Position in the random numbers, to return to it later.
struct Draws {
  uint64_t seed = 0, count = 0;
};
Draws draws();
void set_draws(Draws to);

}  // namespace halfstep::capture
