// Operators of a quantized network that stay in float because they have no form on codes: softmax, normalizations,
// products of two features.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "halfstep/ir/model.h"

namespace halfstep::quant {

struct FloatIsland {
  std::string layer, op;
};

/// Those of a prepared network, in an order in which they run: operators without a form on codes, or that only reals come to.
std::vector<FloatIsland> float_islands(const Model& prepared);

/// "2 operators (softmax 'attention', layer_norm 'norm')"; after the first few only their number.
std::string describe(const std::vector<FloatIsland>& islands);

/// The note of an integer program that names its islands; none are no note.
void set_islands(Model& integer, const std::vector<FloatIsland>& islands);
std::set<std::string> islands_of(const Model& integer);

}  // namespace halfstep::quant
