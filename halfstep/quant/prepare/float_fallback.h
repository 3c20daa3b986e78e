// Float fallbacks: operators of a quantized network that stay in float because they have no integer implementation.
// Examples are softmax, normalizations and products of two activations.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

struct FloatFallback {
  std::string layer, op, reason;
  bool is_outside = false;  ///< outside of the regions that markers bound, where no codes are expected
};

/// Float fallbacks of a prepared network or an integer program, in graph order. Excludes operators that compute no
/// data: index arithmetic that reads no activation, and operators that only select branches and end loops. Excludes
/// comparisons that conversion makes with codes, and operators that compute from integers and stored numbers alone.
std::vector<FloatFallback> float_fallback(const Model& model);

/// Operators in float that only select branches and end loops. They are no float fallbacks, but engines can compute
/// them in another order.
std::vector<FloatFallback> deciding_in_float(const Model& model);

/// Float fallbacks of an integer program from which codes are computed. Other float fallbacks only select control flow,
/// or compute outputs. Casts are excluded, because they round once and identically in every engine.
std::vector<FloatFallback> fallbacks_into_codes(const Model& integer);

/// Float fallbacks that conversion must be allowed to keep: all inside the regions that markers bound.
std::vector<FloatFallback> fallbacks_inside(const Model& prepared);

/// Describes float fallbacks, for example "2 operators (softmax 'attention', layer_norm 'norm')". After 8 entries only
/// the number of the others follows.
std::string describe(const std::vector<FloatFallback>& fallbacks);

}  // namespace halfstep::quant
