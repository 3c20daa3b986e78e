// How training went on the samples that it held back.
#pragma once

#include <string>

#include "halfstep/train/evaluate/standing.h"

namespace halfstep::report {

/// A line on where it began and on the state that was written, and one more where it ended below that; nothing where
/// nothing was held back.
std::string course_text(const train::Course& course);

}  // namespace halfstep::report
