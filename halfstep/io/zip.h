// Zip archives (PKWARE APPNOTE 6.3), as far as NumPy writes them: stored or deflated, with or without zip64.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace halfstep::io {

/// Contents by name, checked against their CRC. Encrypted and otherwise compressed entries are `unsupported`.
std::map<std::string, std::vector<std::byte>> parse_zip(std::span<const std::byte> bytes, const std::string& name);

/// Stored, in name order, dated 1980-01-01. Throws `unsupported` for an entry or archive of 4 GiB or more.
std::vector<std::byte> serialize_zip(const std::map<std::string, std::vector<std::byte>>& entries);

}  // namespace halfstep::io
