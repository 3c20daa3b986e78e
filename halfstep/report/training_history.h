// The training history on the validation split as text.
#pragma once

#include <string>

#include "halfstep/train/evaluate/history.h"

namespace halfstep::report {

/// One line with the first validation result and the result of the saved state. A second line if training ended below
/// the start. Empty without a validation split.
std::string history_text(const train::TrainingHistory& history);

}  // namespace halfstep::report
