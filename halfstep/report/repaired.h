// The results of `repair` as text.
#pragma once

#include <string>

#include "halfstep/tune/repair/repair.h"

namespace halfstep::report {

/// A table of the steps, then the result of each step.
std::string as_text(const repair::Report& repaired);

}  // namespace halfstep::report
