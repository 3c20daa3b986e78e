// Resampling and averages from the attributes of operations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halfstep/core/arith/resample.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// `op` is a resize of floats or codes.
arith::Resampling resampling_of(Op op);

/// The axes that `op` changes. Empty if they depend on dynamic dimensions.
std::optional<std::vector<arith::ResampledAxis>> resampled_axes(Op op);

/// Integer weights of the elements in a mean over axes or in a resize.
struct AverageWeights {
  int64_t sum = 0;         ///< divisor of the average. That of a mean is its number of elements
  int64_t magnitudes = 0;  ///< upper bound of the sum of magnitudes. Only cubic weights are negative
};

/// The weights of an average in floats or on codes. Empty for any other operation, or if an extent is dynamic.
std::optional<AverageWeights> average_weights(Op op);

}  // namespace halfstep::passes
