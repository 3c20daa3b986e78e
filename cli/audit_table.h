// The audit of a prepared network: every operator with weights, and how it is quantized.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "halfstep/halfstep.h"

namespace halfstep::cli {

std::string audit_table(const std::vector<quant::AuditRow>& rows);
nlohmann::ordered_json audit_json(const std::vector<quant::AuditRow>& rows);

}  // namespace halfstep::cli
