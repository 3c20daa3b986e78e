#include "halfstep/io/npz.h"

#include "halfstep/io/atomic_file.h"
#include "halfstep/io/file.h"
#include "halfstep/io/npy.h"
#include "halfstep/io/zip.h"

namespace halfstep::io {
namespace {
constexpr std::string_view kEnding = ".npy";
}

std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, const std::string& name) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [entry, contents] : parse_zip(bytes, name)) {
    if (!entry.ends_with(kEnding)) fail("{}: entry '{}': expected a name ending in .npy", name, entry);
    const std::string tensor = entry.substr(0, entry.size() - kEnding.size());
    tensors.emplace(tensor, parse_npy(contents, fmt::format("{}: array '{}'", name, tensor)));
  }
  return tensors;
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  return parse_npz(read_file(path), path.string());
}

std::vector<std::byte> serialize_npz(const std::map<std::string, Tensor>& tensors) {
  std::map<std::string, std::vector<std::byte>> entries;
  for (const auto& [name, tensor] : tensors)
    entries.emplace(name + std::string(kEnding), serialize_npy(tensor, fmt::format("array '{}'", name)));
  return serialize_zip(entries);
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  write_file(path, serialize_npz(tensors));
}

}  // namespace halfstep::io
