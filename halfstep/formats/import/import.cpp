#include "halfstep/formats/import/import.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "halfstep/formats/onnx/file.h"
#include "halfstep/formats/paddle/file.h"

namespace halfstep::formats {
namespace {

struct Format {
  bool (*is_one)(const std::filesystem::path&);
  std::shared_ptr<const File> (*open)(const std::filesystem::path&);
};

constexpr std::array kFormats = {Format{paddle::is_paddle_file, paddle::open}, Format{onnx::is_onnx_file, onnx::open}};

const Format* find_format(const std::filesystem::path& path) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) { return f.is_one(path); });
  return found == kFormats.end() ? nullptr : &*found;
}

/// Throws `error`, whatever else the file has that is not supported, and what to do about it.
[[noreturn]] void refuse_all(const File& file, const Binding& binding, const Error& error) {
  constexpr size_t kMost = 12;
  const std::string_view said = error.what();
  std::vector<std::string> others;
  std::string remedy;
  for (const Issue& issue : file.coverage(binding).issues) {
    const std::string first = fmt::format("'{}'", issue.nodes.front());
    if (said.find(issue.reason) == std::string_view::npos)
      others.push_back(fmt::format("{} {}: {}", issue.op, first, issue.what()));
    else if (said.find(issue.remedy()) == std::string_view::npos)
      remedy = "; " + issue.remedy();
  }
  if (others.size() > kMost) {
    others[kMost] = fmt::format("{} more", others.size() - kMost);
    others.resize(kMost + 1);
  }
  unsupported("{}{}{}{}", error.what(), remedy, others.empty() ? "" : "; nor is ", fmt::join(others, "; "));
}

}  // namespace

std::shared_ptr<const File> open(const std::filesystem::path& path) {
  const Format* format = find_format(path);
  if (format == nullptr)
    fail(
        "{}: found neither an ONNX model nor another format that is known; give an .onnx file, a program of Paddle "
        "(.json, .pdmodel) or a Model",
        path.string());
  return format->open(path);
}

Model import_whole(const File& file, const Binding& binding) {
  try {
    return file.import(binding);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    refuse_all(file, binding, error);
  }
}

std::shared_ptr<const File> open_bytes(std::span<const std::byte> bytes, const std::string& name) {
  return onnx::parse(bytes, name);
}

bool is_foreign(const std::filesystem::path& path) {
  constexpr std::array kEndings = {".onnx", ".pdmodel", ".json"};
  const bool claims = std::find(kEndings.begin(), kEndings.end(), path.extension()) != kEndings.end();
  return find_format(path) != nullptr || (claims && !is_model_file(path));
}

}  // namespace halfstep::formats
