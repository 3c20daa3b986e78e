// The results of `train` as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/train.h"

namespace halfstep::report {

/// The training history on the validation split, the final accuracy and loss, and the operator times if profiled.
std::string as_text(const api::TrainResult& trained);
/// The content of the text as JSON.
std::string as_json(const api::TrainResult& trained);

}  // namespace halfstep::report
