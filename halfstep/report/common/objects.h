// JSON objects that several reports contain, see docs/reference/reports.md. Internal to halfstep/report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "halfstep/api/inspect.h"
#include "halfstep/api/train.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/tune/repair/repair.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::report {

/// {"quantizers": [...], "float": [...]}.
nlohmann::ordered_json to_json(const quant::Audit& audit);
nlohmann::ordered_json to_json(const repair::Report& repaired);
nlohmann::ordered_json to_json(const verify::VerifyReport& report);
nlohmann::ordered_json to_json(const api::TrainResult& trained);
nlohmann::ordered_json object_of(const api::TargetInspection& found);

}  // namespace halfstep::report
