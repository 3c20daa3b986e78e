#include "halfstep/core/base/embedded.h"

#include <algorithm>

#include "halfstep/core/base/status.h"

namespace halfstep {

std::optional<std::span<const std::byte>> find_embedded(std::string_view path) {
  const auto files = embedded_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& file) { return file.path == path; });
  if (found == files.end()) return std::nullopt;
  return found->bytes;
}

std::span<const std::byte> embedded(std::string_view path) {
  const auto bytes = find_embedded(path);
  HS_CHECK(bytes.has_value());
  return *bytes;
}

}  // namespace halfstep
