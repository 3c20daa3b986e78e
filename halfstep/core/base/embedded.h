// Files that are part of the library: networks, platform records, the default data set.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace halfstep {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the project: "platforms/generic_int8.yaml"
  std::span<const std::byte> bytes;
};

/// Every embedded file in path order. Written by the build.
std::span<const EmbeddedFile> embedded_files();

/// Contents of `path`; nothing when there is no such file.
std::optional<std::span<const std::byte>> find_embedded(std::string_view path);

/// Contents of `path`, which must exist.
std::span<const std::byte> embedded(std::string_view path);

}  // namespace halfstep
