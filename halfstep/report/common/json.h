// What all JSON reports have in common: docs/reference/reports.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace halfstep::report {

/// Of every report; a change that a reader of the last one would stumble over raises it.
inline constexpr int kSchema = 1;

/// The report with its schema in front.
inline std::string to_text(const nlohmann::ordered_json& report) {
  nlohmann::ordered_json json = {{"schema", kSchema}};
  json.update(report);
  return json.dump(2) + "\n";
}

}  // namespace halfstep::report
