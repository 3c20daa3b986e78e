#include "halfstep/formats/import.h"

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

}  // namespace

std::string Issue::what() const { return reason.substr(0, reason.find("; ")); }

std::string Issue::remedy() const {
  if (const size_t own = reason.find("; "); own != std::string::npos) return reason.substr(own + 2);
  if (needs_extents) return "give the inputs fixed extents";
  if (needs_values) return "cut the network in front of it, or run the file as it is (halfstep run)";
  return "write it with operators that are supported, or cut the network in front of it";
}

bool Coverage::complete() const {
  return std::all_of(issues.begin(), issues.end(), [](const Issue& i) { return i.needs_values; });
}

std::shared_ptr<const File> open(const std::filesystem::path& path) {
  const Format* format = find_format(path);
  if (format == nullptr) fail("{}: found neither an ONNX model nor another format that is known", path.string());
  return format->open(path);
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
