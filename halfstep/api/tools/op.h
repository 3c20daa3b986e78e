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

verify::OpReport run_operators(const OpRequest& request, const Settings& settings = {});

struct GoldenRequest {
  std::filesystem::path file = {};  ///< results of the original operators: FILE.json with FILE.safetensors
  std::string operators = "*";      ///< pattern for names of the original operators
};
verify::GoldenReport run_golden(const GoldenRequest& request, const Settings& settings = {});

}  // namespace halfstep::api
