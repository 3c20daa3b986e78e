// How a network is quantized, for people and programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "halfstep/quant/audit.h"

namespace halfstep::report {

/// One line for each operation on codes: its weights, the codes of its result, what scales its sums; then what stays in
/// float.
std::string as_text(const quant::Audit& audit);

/// {"quantizers": [...], "float": [...]}: docs/reports.md.
nlohmann::ordered_json to_json(const quant::Audit& audit);

}  // namespace halfstep::report
