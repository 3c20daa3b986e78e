// Where a quantized network loses, quantizer by quantizer, and what was found to help.
#pragma once

#include <optional>
#include <string>

#include "halfstep/api/options.h"
#include "halfstep/api/quantize.h"
#include "halfstep/tune/sensitivity/analysis.h"

namespace halfstep::api {

struct AnalyzeResult {
  sensitivity::Analysis sensitivity;
  std::string network, platform;
  std::string part;  ///< which samples: "test/", "a fifth of each class"
};

/// Throws for an integer program, for a float network without a platform, and as sensitivity::analyze.
AnalyzeResult analyze(const Model& network, const Dataset& data, const AnalyzeOptions& options = {},
                      const Settings& settings = {});

}  // namespace halfstep::api
