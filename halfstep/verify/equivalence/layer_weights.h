// The weights of a layer: stored codes of the integer program, and values of the prepared network. Internal to
// halfstep/verify/equivalence.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/verify/equivalence/codings.h"
#include "halfstep/verify/equivalence/semantics.h"

namespace halfstep::verify {

struct LayerWeights {
  ops::FakeQuantize quantizer;  ///< quantizer in the prepared network
  Op prepared;                  ///< operator in the prepared network
  Tensor codes;                 ///< codes of the program, output channels first
  std::vector<double> scales;   ///< by output channel, or one
  std::vector<double> bias;     ///< real values by output channel, empty without a bias

  /// The real values of the codes in f64.
  Tensor floats() const;
  /// The real values in the order in which `product`, an operator with as many weights, stores them.
  Tensor floats_for(Op product) const;
  int64_t taps() const { return codes.size() / std::max<int64_t>(1, codes.dims()[0]); }
};

/// Nothing for a layer without weights. Scales come from the program if it stores them, otherwise from the prepared
/// network, raised as in docs/arithmetic.md, section 4.
std::optional<LayerWeights> layer_weights(const Model& prepared, const Model& integer, const Coding& layer,
                                          const std::vector<Coding>& codings);

/// Compares every code with the prepared network's weight.
void compare_weights(const LayerWeights& weights, const Model& prepared, Semantics& semantics);

}  // namespace halfstep::verify
