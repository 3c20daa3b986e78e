// The checksums by which boards and their tools compare files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace halfstep::board {

/// In hex, as sha256sum and md5sum print them.
struct Digests {
  std::string sha256 = {}, md5 = {};
  bool operator==(const Digests&) const = default;
};

Digests digests(std::span<const std::byte> bytes);

/// SHA-256 alone, in hex.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace halfstep::board
