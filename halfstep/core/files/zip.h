// Writes zip archives; ArchiveReader reads them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace halfstep::io {

/// Writes entries uncompressed, sorted by name, dated 1980-01-01. Each size and checksum precedes its data, so that
/// sequential readers know them. libarchive would write them after the data. Throws `unsupported` for an entry or
/// archive of 4 GiB or more.
std::vector<std::byte> serialize_zip(const std::map<std::string, std::vector<std::byte>>& entries);

}  // namespace halfstep::io
