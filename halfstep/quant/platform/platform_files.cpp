#include "halfstep/quant/platform/platform_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"
#include "halfstep/quant/platform/errors.h"

namespace halfstep::quant {
namespace {

constexpr std::string_view kFolder = "platforms/";
constexpr std::string_view kSuffix = ".yaml";
constexpr uintmax_t kMostBytes = uintmax_t{1} << 20;  ///< limit for a record, hundreds of times the size of a usual one

/// The path of the built-in record with this name (case-insensitive), or "".
std::string built_in(const std::string& name) {
  const auto is_same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  for (const std::string& known : platform_names()) {
    if (std::ranges::equal(known, name, is_same)) return std::string(kFolder) + known + std::string(kSuffix);
  }
  return "";
}

std::string read_file(const std::string& path) {
  std::error_code failed;  // check for a regular file, because opening a pipe would block
  std::ifstream stream;
  if (std::filesystem::is_regular_file(path, failed)) stream.open(path, std::ios::binary);
  if (!stream.is_open())
    fail(errors::platform_file_unreadable(path, fmt::format("{}", fmt::join(platform_names(), ", "))));
  if (const auto bytes = std::filesystem::file_size(path, failed); !failed && bytes > kMostBytes)
    fail(errors::platform_file_too_large(path, bytes, kMostBytes));
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::vector<std::string> platform_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(kFolder))
      names.emplace_back(file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kSuffix.size()));
  }
  return names;
}

bool is_built_in(const std::string& name) { return !built_in(name).empty(); }

RecordSource find_record(const std::string& name_or_path, const std::string& from) {
  if (const std::string path = built_in(name_or_path); !path.empty()) {
    const auto bytes = find_embedded(path);
    return {{reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path};
  }
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(kSuffix);
  if (!is_path) {
    const auto names = platform_names();
    fail(errors::platform_unknown(name_or_path, fmt::format("{}", fmt::join(names, ", ")),
                                  did_you_mean(name_or_path, names)));
  }
  const std::filesystem::path seen = std::filesystem::path(from).parent_path() / name_or_path;
  const std::string path = from.empty() ? name_or_path : seen.lexically_normal().string();
  return {read_file(path), path};
}

}  // namespace halfstep::quant
