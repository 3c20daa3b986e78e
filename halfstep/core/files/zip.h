// Writes zip archives; ArchiveReader reads them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace halfstep::io {

/// Stored, in name order, dated 1980-01-01. Each size and checksum stands before its data, so that readers from front
/// to back know them; libarchive writes them behind. Throws `unsupported` for an entry or archive of 4 GiB or more.
std::vector<std::byte> serialize_zip(const std::map<std::string, std::vector<std::byte>>& entries);

}  // namespace halfstep::io
