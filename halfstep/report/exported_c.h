// What export wrote of a network as C.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/api/export_c.h"

namespace halfstep::report {

/// Files, flash and memory.
std::string as_text(const api::ExportCResult& exported, const std::filesystem::path& folder);
/// The same as JSON.
std::string as_json(const api::ExportCResult& exported);

}  // namespace halfstep::report
