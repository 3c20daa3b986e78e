// Suggests remedies for the results of an analysis.
#pragma once

#include "halfstep/tune/sensitivity/analysis.h"

namespace halfstep::sensitivity {

/// Sets the suggestions of every quantizer: sentences with options of `halfstep quantize` that the platform allows.
void add_advice(Analysis& analysis, const Model& prepared);

}  // namespace halfstep::sensitivity
