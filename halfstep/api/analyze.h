// Sensitivity analysis of a quantized network: the cost of each quantizer, and remedies that were tried.
#pragma once

#include <optional>
#include <string>

#include "halfstep/api/options.h"
#include "halfstep/api/quantize.h"
#include "halfstep/tune/sensitivity/analysis.h"

namespace halfstep::api {

/// Result of `analyze`: the analysis, and the names of network and platform.
struct AnalyzeResult {
  sensitivity::Analysis sensitivity;
  std::string network, platform;
  std::string part;  ///< split of the analyzed samples: "test/", "a fifth of each class"
};

/// Analyzes `network`. Quantizes a float network for the platform first. Throws for an integer program, a float network
/// without a platform, options out of range and samples that do not match. Throws if layers compute NaN or infinity,
/// with the names of these layers.
AnalyzeResult analyze(const Model& network, const Dataset& data, const AnalyzeOptions& options = {},
                      const Settings& settings = {});

}  // namespace halfstep::api
