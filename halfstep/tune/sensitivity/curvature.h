// Curvature of the loss along quantized tensors.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/base/progress.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

struct Curvature {
  double trace = 0, error = 0;  ///< Hessian trace of the loss (Hutchinson estimate), and its standard error
  /// Cost of rounding by the diagonal of the Fisher information: half the sum of squared gradient x squared error.
  double score = 0;
};

struct CurvatureOptions {
  int64_t directions = 8;
  uint64_t seed = 0;
};

/// Curvature by name of quantizer. Omits quantizers on which the loss does not depend. For weights, the trace is that
/// of the mean loss. For activations, it is the mean trace of each sample's loss. Uses finite differences of gradients
/// along vectors of +1 and -1. All weights move together and all activations move together. Cross terms average out.
/// Throws unsupported if an operator on the path has no gradient.
std::map<std::string, Curvature> curvatures(const FloatNetwork& network, const Trial& trial,
                                            const CurvatureOptions& options, const ProgressCallback& progress);

}  // namespace halfstep::sensitivity
