// How a training went.
#pragma once

#include <string>

#include "halfstep/api/train.h"

namespace halfstep::report {

/// How it did on the samples held back, the accuracy and loss at the end, and with a profile what took the time.
std::string as_text(const api::TrainResult& trained);
/// JSON.
std::string as_json(const api::TrainResult& trained);

}  // namespace halfstep::report
