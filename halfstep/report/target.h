// What stands between a network and its target, in an inspection.
#pragma once

#include <string>

#include "halfstep/api/inspect.h"

namespace halfstep::report {

/// Each reason once, with its layers and what to do about it.
std::string as_text(const api::TargetInspection& found);
std::string as_json(const api::TargetInspection& found);

}  // namespace halfstep::report
