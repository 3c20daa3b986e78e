// Evaluates many forms of one network that differ in few quantizers, on the same samples.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/tune/sensitivity/network_pieces.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// A form of a network.
struct Variant {
  size_t first = 0, last = 0;  ///< range of pieces that differ
  Stays stays = {};            ///< quantizers in these pieces
  bool rounds_before = false;  ///< whether all quantizers before these pieces round, or none
  bool rounds_behind = false;
};

/// Results of each variant. Values before a variant's own pieces are computed once for all variants. They are stored
/// for as many samples at a time as fit into half a gigabyte. Calls `done` with the completed steps and their number,
/// in the order of the variants' first pieces.
std::vector<Trial::Outcome> outcomes_of(const Pieces& pieces, const Trial& trial, const std::vector<Variant>& variants,
                                        const std::function<void(size_t done, size_t steps)>& done);

}  // namespace halfstep::sensitivity
