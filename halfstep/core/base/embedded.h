// Files embedded in the library: networks, platform records, the default data set.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace halfstep {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the root of the repository: "platforms/generic_int8.yaml"
  std::span<const std::byte> bytes;
};

/// Returns all embedded files, sorted by path. The build generates them.
std::span<const EmbeddedFile> embedded_files();

/// Returns the contents of `path`, or nullopt if there is no such file.
std::optional<std::span<const std::byte>> find_embedded(std::string_view path);

/// Returns the contents of `path`, which must exist.
std::span<const std::byte> embedded(std::string_view path);

}  // namespace halfstep
