#include "halfstep/core/files/npz.h"

#include <fmt/format.h>

#include "halfstep/core/files/archive.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/core/files/zip.h"

namespace halfstep::io {
namespace {
constexpr std::string_view kEnding = ".npy";
}

std::map<std::string, Tensor> read_npz(std::unique_ptr<SeekableSource> source) {
  // Limits expansion, because files that share data let a small archive grow without bound. Deflate codes at most 258
  // bytes in two bits.
  constexpr uint64_t kLargestRatio = 1032;
  uint64_t left = source->size() * kLargestRatio;
  const std::string where = source->name();
  ArchiveReader reader(std::move(source), ArchiveForm::zip);
  std::map<std::string, Tensor> tensors;
  while (const auto file = reader.next()) {
    if (!file->ends_with(kEnding)) fail(errors::member_not_npy(where, *file));
    const std::string tensor = file->substr(0, file->size() - kEnding.size());
    const auto contents = reader.contents(left);
    left -= contents.size();
    if (!tensors.emplace(tensor, parse_npy(contents, fmt::format("{}: array '{}'", where, tensor))).second)
      fail(errors::given_twice(fmt::format("{}: file '{}'", where, *file)));
  }
  return tensors;
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) { return read_npz(file_source(path)); }

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
