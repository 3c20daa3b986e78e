// Measures the effect of each quantizer on the loss.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// Results on the samples of a trial with some of the quantizers.
struct Effect {
  train::ValidationResult alone;    ///< with this quantizer alone
  train::ValidationResult up_to;    ///< with this quantizer and all before it
  train::ValidationResult without;  ///< with all quantizers but this one
};

/// Effects by place of the network. Calls `done` with the completed steps and their number.
std::vector<Effect> effects_of(const FloatNetwork& network, const Trial& trial,
                               const std::function<void(size_t done, size_t steps)>& done);

}  // namespace halfstep::sensitivity
