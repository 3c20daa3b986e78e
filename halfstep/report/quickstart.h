// The report of a quickstart.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/api/quickstart.h"

namespace halfstep::report {

/// The content of report.json in a quickstart folder. An infinite sqnr_db is written as 200.
std::string as_json(const api::QuickstartReport& report);

/// Writes report.json into the folder.
void write(const api::QuickstartReport& report, const std::filesystem::path& folder);

}  // namespace halfstep::report
