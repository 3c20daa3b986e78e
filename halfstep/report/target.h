// The obstacles between a network and its target platform, as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/inspect.h"

namespace halfstep::report {

/// Each reason once, with its layers and the remedy.
std::string as_text(const api::TargetInspection& found);
std::string as_json(const api::TargetInspection& found);

}  // namespace halfstep::report
