// The results of `inspect` as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/inspect.h"

namespace halfstep::report {

/// Network, instructions, values, dependencies and memory plan.
std::string as_text(const api::Inspection& found);
/// Also with the reasons for selected and refused kernels.
std::string as_explained_text(const api::Inspection& found);
/// The content of the text as JSON, without the explanation.
std::string as_json(const api::Inspection& found);

/// The content of a foreign file, and its unsupported operators.
std::string as_text(const api::ForeignInspection& found);
/// Also with its instructions.
std::string as_explained_text(const api::ForeignInspection& found);
std::string as_json(const api::ForeignInspection& found);

}  // namespace halfstep::report
