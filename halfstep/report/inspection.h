// The results of `inspect` as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/inspect.h"

namespace halfstep::report {

/// Network, instructions, values, dependencies and memory plan. `explain` adds the reasons for selected and refused
/// kernels.
std::string as_text(const api::Inspection& found, bool explain);
/// The content of the text as JSON, without the explanation.
std::string as_json(const api::Inspection& found);

/// The content of a foreign file, and its unsupported operators. `explain` adds its instructions.
std::string as_text(const api::ForeignInspection& found, bool explain);
std::string as_json(const api::ForeignInspection& found);

}  // namespace halfstep::report
