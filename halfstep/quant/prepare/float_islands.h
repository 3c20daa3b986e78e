// Operators of a quantized network that stay in float because they have no form on codes: softmax, normalizations,
// products of two features.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

struct FloatIsland {
  std::string layer, op, reason;
  bool is_outside = false;  ///< of the regions that markers bound: nobody expects codes there
};

/// Those of a prepared network or an integer program, in the order of its graph. Index arithmetic that reads no
/// activation is not among them: it is not on the path of the data.
std::vector<FloatIsland> float_islands(const Model& model);

/// Those of an integer program that codes are made of. What others compute decides which way a run goes, or is a
/// result. A cast rounds once, in any engine alike.
std::vector<FloatIsland> islands_into_codes(const Model& integer);

/// Those that conversion needs leave for: all inside of the regions that markers bound.
std::vector<FloatIsland> islands_inside(const Model& prepared);

/// "2 operators (softmax 'attention', layer_norm 'norm')"; after the first few only their number.
std::string describe(const std::vector<FloatIsland>& islands);

}  // namespace halfstep::quant
