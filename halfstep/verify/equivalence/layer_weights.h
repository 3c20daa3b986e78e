// The weights of a layer of an integer program, as it has them and as they were meant. Internal to this room.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/verify/equivalence/codings.h"
#include "halfstep/verify/equivalence/meaning.h"

namespace halfstep::verify {

struct LayerWeights {
  ops::FakeQuantize quantizer;  ///< of the prepared network
  Op prepared;                  ///< the operator there
  Tensor codes;                 ///< of the program, output channels first
  std::vector<double> scales;   ///< by output channel, or one
  std::vector<double> bias;     ///< real, by output channel; empty for none

  /// The codes as f64, output channels last where they are `turned` (matrices alone).
  Tensor reals(bool turned) const;
  int64_t taps() const { return codes.size() / std::max<int64_t>(1, codes.dims()[0]); }
};

/// Nothing for a layer without weights. Scales are what the program states, else those of the prepared network, raised
/// as docs/arithmetic.md says in section 4.
std::optional<LayerWeights> layer_weights(const Model& prepared, const Model& integer, const Coding& layer,
                                          const std::vector<Coding>& codings);

/// Every code against the prepared network's weight.
void compare_weights(const LayerWeights& weights, const Model& prepared, Meaning& meaning);

}  // namespace halfstep::verify
