// Checksums with which boards and their tools compare files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace halfstep::board {

/// Hexadecimal, as sha256sum and md5sum print them.
struct Digests {
  std::string sha256 = {}, md5 = {};
  bool operator==(const Digests&) const = default;
};

Digests digests(std::span<const std::byte> bytes);

/// SHA-256 in hexadecimal.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace halfstep::board
