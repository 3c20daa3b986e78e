// What repair tried on a quantized network, and what came of it.
#pragma once

#include <string>

#include "halfstep/tune/repair/repair.h"

namespace halfstep::report {

/// A table of the steps, then what each did.
std::string as_text(const repair::Report& repaired);

}  // namespace halfstep::report
