// Operators against their references, and against results of the original frameworks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/settings.h"
#include "halfstep/verify/operators/golden.h"
#include "halfstep/verify/operators/runner.h"

namespace halfstep::api {

struct OpRequest {
  std::vector<std::string> problems = {};  ///< lines such as "relu x=f32[2,3]"; without any the cases of the records
  std::string operators = "*";             ///< which records: a pattern of names
  std::string mode = "check";              ///< check, bitwise, grad, reject, speed, or all but speed
  Place device = {};                       ///< of check and speed: cpu, sim, cuda, cuda:N
};
verify::OpReport run_operators(const OpRequest& request, const Settings& settings);

struct GoldenRequest {
  std::filesystem::path file = {};  ///< results of the original operators: FILE.json beside FILE.safetensors
  std::string operators = "*";      ///< of the original operators: a pattern of names
};
verify::GoldenReport run_golden(const GoldenRequest& request, const Settings& settings);

}  // namespace halfstep::api
