// Inspections as they are read: by people and by programs.
#pragma once

#include <string>

#include "halfstep/api/inspect.h"

namespace halfstep::report {

/// Network, instructions, values, dependencies and memory plan; `explain`: also why kernels were chosen and others
/// refused.
std::string as_text(const api::Inspection& found, bool explain);
/// The same without the explanation, as JSON.
std::string as_json(const api::Inspection& found);

/// What a foreign file has, and what of it is not supported; `explain`: also its instructions.
std::string as_text(const api::ForeignInspection& found, bool explain);
std::string as_json(const api::ForeignInspection& found);

}  // namespace halfstep::report
