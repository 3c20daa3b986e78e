// The results of `export --format c` as text and JSON.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/api/export_c.h"

namespace halfstep::report {

/// Files, flash and memory of the C program in `folder`.
std::string as_text(const api::ExportCResult& exported, const std::filesystem::path& folder);
/// The content of the text as JSON.
std::string as_json(const api::ExportCResult& exported);

}  // namespace halfstep::report
