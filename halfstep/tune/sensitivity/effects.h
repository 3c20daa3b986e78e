// What each quantizer does to the loss.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// How the network does on the samples of a trial with some of its quantizers.
struct Effect {
  train::Standing alone;    ///< with this one
  train::Standing up_to;    ///< with this one and all that round in front of it
  train::Standing without;  ///< with all but this one
};

/// By place of the network. `done` hears how many of how many steps there are.
std::vector<Effect> effects_of(const FloatNetwork& network, const Trial& trial,
                               const std::function<void(size_t done, size_t steps)>& done);

}  // namespace halfstep::sensitivity
