// Common parts of all JSON reports, see docs/reference/reports.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "halfstep/report/schema.h"

namespace halfstep::report {

/// Serializes a report with the schema as its first key. Names may hold invalid UTF-8, which is replaced.
inline std::string to_text(const nlohmann::ordered_json& report) {
  nlohmann::ordered_json json = {{"schema", kSchema}};
  json.update(report);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace halfstep::report
