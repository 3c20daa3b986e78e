// The description of a data set as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/inputs/inspect_data.h"

namespace halfstep::report {

std::string as_text(const api::DataReport& data);
/// The content of the text as JSON, with all sizes, classes and skipped images.
std::string as_json(const api::DataReport& data);

}  // namespace halfstep::report
