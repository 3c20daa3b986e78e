// Checks of operators against their references, and against results of the original frameworks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/verify/operators/golden.h"
#include "halfstep/verify/operators/operator_runner.h"

namespace halfstep::api {

/// Checks operators by the mode of `request`, on problems, on the cases of records, or both.
verify::OpReport run_operators(const OpRequest& request, const Settings& settings = {});

/// Selects recorded results of original operators.
struct GoldenRequest {
  std::filesystem::path file = {};  ///< results of the original operators: FILE.json with FILE.safetensors
  std::string operators = "*";      ///< pattern for names of the original operators
};
/// Compares operators with recorded results of the original frameworks.
verify::GoldenReport run_golden(const GoldenRequest& request, const Settings& settings = {});

}  // namespace halfstep::api
