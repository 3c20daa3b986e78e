// How the loss bends along what quantizers round.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/base/progress.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

struct Curvature {
  double trace = 0, error = 0;  ///< of the loss's Hessian (Hutchinson's estimate), and its standard error
  /// What rounding costs by the diagonal of the Fisher information: half the sum of squared gradient x squared error.
  double score = 0;
};

struct CurvatureOptions {
  int64_t directions = 8;
  uint64_t seed = 0;
};

/// By name of quantizer; those that the loss does not depend on are not there. Of weights the trace is that of the mean
/// loss, of features the mean of the samples' own. Finite differences of gradients along vectors of +1 and -1, all
/// weights at once and all features at once, so that what they share averages out. Throws unsupported where an operator
/// on the way has no gradient.
std::map<std::string, Curvature> curvatures(const FloatNetwork& network, const Trial& trial,
                                            const CurvatureOptions& options, const ProgressCallback& progress);

}  // namespace halfstep::sensitivity
