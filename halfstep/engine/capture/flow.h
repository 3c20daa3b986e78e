// Branches and loops on arrays: operators with regions, traced and captured or not.
#pragma once

#include <functional>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

/// Traced once: it must compute with operators alone. Arrays that it reads besides its arguments are captured.
using Body = std::function<Arrays(const Arrays&)>;

/// What `then` gives of the operands where `condition`, one element of bool, is true, and what `otherwise` gives where
/// it is not; of the same number and element types. Throws Error, as the others do, for what a region cannot be.
Arrays cond(const Array& condition, const Body& then, const Body& otherwise, const Arrays& operands);

/// States after body(states) as often as condition(states), one element of bool, is true. `at_most`: iterations, 0 for
/// any number.
Arrays while_loop(const Body& condition, const Body& body, const Arrays& states, int64_t at_most = 0);

/// body(states, elements) gives the next states and what is stacked: for each element of the first axis of `scanned`,
/// in order. Results are the last states, and behind them what was stacked.
using ScanBody = std::function<std::pair<Arrays, Arrays>(const Arrays& states, const Arrays& elements)>;
std::pair<Arrays, Arrays> scan(const ScanBody& body, const Arrays& states, const Arrays& scanned);

}  // namespace halfstep::capture
