// Many forms of one network that differ in few quantizers, tried on the same samples.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/tune/sensitivity/network_pieces.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// A form of a network.
struct Variant {
  size_t first = 0, last = 0;  ///< the pieces that are its own
  Stays stays = {};            ///< quantizers of these
  bool rounds_before = false;  ///< whether all quantizers in front of them round, or none
  bool rounds_behind = false;
};

/// How each variant does. What lies in front of its own pieces is computed once for all, and kept for as many samples
/// at a time as take half a gigabyte. `done` hears how many of how many steps there are, in the order of the variants'
/// first pieces.
std::vector<Trial::Outcome> outcomes_of(const Pieces& pieces, const Trial& trial, const std::vector<Variant>& variants,
                                        const std::function<void(size_t done, size_t steps)>& done);

}  // namespace halfstep::sensitivity
