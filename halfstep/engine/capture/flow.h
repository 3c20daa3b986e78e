// Branches and loops on arrays: operators with regions. They work with and without capture.
#pragma once

#include <functional>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

/// Function that is traced once. It must use only operators. Arrays that it reads besides its arguments are captured.
using Body = std::function<Arrays(const Arrays&)>;

/// Returns then(operands) if `condition` (one bool element) is true, else otherwise(operands). Both must return the
/// same number of arrays and the same element types. Like the functions below, throws Error if a body cannot become a
/// region.
Arrays cond(const Array& condition, const Body& then, const Body& otherwise, const Arrays& operands);

/// Applies `body` to the states while condition(states), one bool element, is true. Returns the last states. `at_most`:
/// maximum number of iterations (0: no limit).
Arrays while_loop(const Body& condition, const Body& body, const Arrays& states, int64_t at_most = 0);

/// body(states, elements) returns the next states and the arrays to stack. It runs for each element along the first
/// axis of `scanned`, in order. Results are the last states, followed by the stacked arrays.
using ScanBody = std::function<std::pair<Arrays, Arrays>(const Arrays& states, const Arrays& elements)>;
std::pair<Arrays, Arrays> scan(const ScanBody& body, const Arrays& states, const Arrays& scanned);

}  // namespace halfstep::capture
