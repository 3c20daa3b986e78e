// Files that are either whole or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace halfstep::io {

/// Ending of files that are being written.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

/// Writes PATH.tmp beside PATH, syncs it, renames it over PATH and syncs the folder: after a crash PATH has its old
/// contents or the new ones. Throws bad_input with path and reason; then neither PATH is changed nor PATH.tmp left
/// behind.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

/// Removes the *.tmp files directly in `folder` that a killed process left; returns their number. No folder: 0.
int remove_temporaries(const std::filesystem::path& folder);

}  // namespace halfstep::io
