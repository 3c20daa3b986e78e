// Where a quantized network loses, quantizer by quantizer, and what was found to help.
#pragma once

#include <optional>
#include <string>

#include "halfstep/api/quantize.h"
#include "halfstep/tune/sensitivity/analysis.h"

namespace halfstep::api {

struct AnalyzeOptions {
  analyze::AnalyzeOptions how = {};  ///< its seed is that of the settings
  /// On which part of the data: the samples that a network was trained and calibrated on, or those that test it.
  bool on_training = false;
  /// For a float network: it is quantized for this platform first, in memory.
  std::optional<Platform> platform = {};
  QuantizeOptions quantize = {};
  int64_t tries = 8;  ///< remedies that are tried, at most; no other is advised
};

struct Analysis {
  analyze::Analysis result;
  std::string network, platform;
  std::string part;  ///< which samples: "test/", "a fifth of each class"
};

/// Throws for an integer program, for a float network without a platform, and as analyze::analyze.
Analysis analyze(const Model& network, const Dataset& data, const AnalyzeOptions& options, const Settings& settings);

}  // namespace halfstep::api
