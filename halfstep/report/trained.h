// How a training went.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "halfstep/api/train.h"

namespace halfstep::report {

/// How it did on the samples held back, the accuracy and loss at the end, and with a profile what took the time.
std::string as_text(const api::Trained& trained);
/// The same as JSON.
nlohmann::ordered_json to_json(const api::Trained& trained);
std::string as_json(const api::Trained& trained);

}  // namespace halfstep::report
