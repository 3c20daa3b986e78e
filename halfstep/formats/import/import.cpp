#include "halfstep/formats/import/import.h"

#include <algorithm>
#include <array>

#include "halfstep/formats/import/errors.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/formats/paddle/paddle_file.h"

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

/// Throws `error` together with all other unsupported parts of the file, each with its remedy.
[[noreturn]] void fail_with_others(const File& file, const Binding& binding, const Error& error) {
  constexpr size_t kMost = 12;
  std::vector<Diagnostic> all = error.diagnostics();
  const size_t own = all.size();
  size_t left_out = 0;
  for (const Issue& issue : file.coverage(binding).issues) {
    const auto is_it = [&](const Diagnostic& one) { return one.says_the_same_as(issue.reason); };
    const auto known = std::find_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own), is_it);
    if (known != all.begin() + static_cast<std::ptrdiff_t>(own))
      known->remedy = issue.remedy();
    else if (all.size() < own + kMost)
      all.push_back(issue.reason), all.back().remedy = issue.remedy();
    else
      ++left_out;
  }
  if (left_out > 0) all.push_back(errors::more_not_supported(left_out));
  throw Error(std::move(all));
}

}  // namespace

std::shared_ptr<const File> open(const std::filesystem::path& path) {
  const Format* format = find_format(path);
  if (format == nullptr) fail(errors::unknown_file_format(path.string()));
  return format->open(path);
}

Model import_whole(const File& file, const Binding& binding) {
  try {
    return file.import(binding);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    fail_with_others(file, binding, error);
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
