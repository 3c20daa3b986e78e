// What was understood of a data set, as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/inputs/inspect_data.h"

namespace halfstep::report {

std::string as_text(const api::DataReport& data);
/// The same as JSON, with all sizes, classes and images that were left out.
std::string as_json(const api::DataReport& data);

}  // namespace halfstep::report
