#include "halfstep/verify/board/side.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/verify/board/errors.h"
#include "halfstep/verify/board/value_file.h"

namespace halfstep::board {
namespace {

namespace fs = std::filesystem;

/// Mistakes in the file of a value.
std::vector<Diagnostic> objections_to(const Side& side, size_t index) {
  if (index < side.contents.size() && side.contents[index].defined()) return {};
  const Entry& entry = side.manifest.entries[index];
  const std::string path = (side.folder / entry.file).string();
  try {
    const auto file = io::MappedFile::open_below(side.folder, entry.file);
    if (file->bytes().empty() && (entry.bytes > 0 || side.bare[index]))
      return {errors::dump_file_unfit(path, "an empty file", "values")};
    return {};
  } catch (const Error& error) {
    return error.diagnostics();
  }
}

/// Whether the manifest is consistent: the bytes of shape, type and layout match the stated size.
std::optional<Diagnostic> contradiction(const Entry& entry) {
  if (entry.format != Format::bin) return std::nullopt;
  const ImageDims dims = ImageDims::of(entry.type.dims);
  const int64_t expected = dims.n * sample_bytes(dims, entry.type.dtype, entry.layout);
  if (entry.bytes == expected) return std::nullopt;
  return errors::manifest_value_unfit(
      fmt::format("value '{}'", entry.name), fmt::format("{} bytes", entry.bytes),
      fmt::format("{}, the size of {} as {}", expected, to_string(entry.type), describe(entry.layout)));
}

void note_changed(Side& side) {
  std::vector<std::string> changed;
  for (size_t i = 0; i < side.manifest.entries.size(); ++i) {
    const Entry& entry = side.manifest.entries[i];
    const auto file = io::MappedFile::open_below(side.folder, entry.file);
    constexpr size_t kChunk = size_t{64} << 20;
    if (sha256(file->bytes()) != entry.digests.sha256) changed.push_back(entry.file);
    for (size_t at = 0; at < file->bytes().size(); at += kChunk)
      file->forget(file->bytes().subspan(at, std::min(kChunk, file->bytes().size() - at)));
  }
  if (changed.empty()) return;
  const size_t count = changed.size();
  constexpr size_t kShown = 5;
  changed.resize(std::min(count, kShown));
  side.notes.push_back(fmt::format("{}: {} of {} files do not match their SHA-256 in the manifest: {}{}", side.name,
                                   count, side.manifest.entries.size(), fmt::join(changed, ", "),
                                   count > kShown ? ", ..." : ""));
}

void list_bare_files(Side& side) {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(side.folder)) {
    const std::string ending = file.path().extension().string();
    if (file.is_regular_file() && (ending == ".bin" || ending == ".raw" || ending == ".npy" || ending == ".txt"))
      files.push_back(file.path().filename());
  }
  std::ranges::sort(files);
  if (files.empty())
    fail(errors::dump_without_values(side.name,
                                     fmt::format("{} or a file of values (.bin, .raw, .npy, .txt)", kManifestFile)));
  for (const fs::path& file : files) {
    Entry entry;
    entry.name = entry.layer = value_name(file);
    entry.file = file.string();
    const std::string ending = file.extension().string();
    entry.format = ending == ".npy" ? Format::npy : ending == ".txt" ? Format::txt : Format::bin;
    side.manifest.entries.push_back(entry);
  }
}

/// The value with this name, or with a file of this name, because file names cannot contain all characters.
const Entry* called(const Manifest& manifest, const std::string& name) {
  if (const Entry* found = manifest.find(name)) return found;
  const auto found =
      std::ranges::find_if(manifest.entries, [&](const Entry& entry) { return value_name(entry.file) == name; });
  return found == manifest.entries.end() ? nullptr : &*found;
}

/// The codes of these float values. Nothing if a value lies between two codes.
std::optional<Tensor> codes_of(const Tensor& floats, const Codes& format) {
  constexpr double kNear = 1e-3;
  Tensor codes(DType::i32, floats.dims());
  const auto to = codes.data<int32_t>();
  size_t i = 0;
  for (const float real : floats.data<float>()) {
    const double steps = static_cast<double>(real) / static_cast<double>(*format.scale), whole = std::nearbyint(steps);
    if (!(std::abs(steps - whole) <= kNear) || std::abs(whole) > 1e6) return std::nullopt;
    to[i++] = static_cast<int32_t>(whole) + static_cast<int32_t>(format.zero_point);
  }
  return codes;
}

}  // namespace

void Stored::forget(std::span<const std::byte> part) const {
  if (file) file->forget(part);
}

Stored Side::open(size_t index) const {
  Stored stored;
  if (index < contents.size() && contents[index].defined()) {
    stored.tensor = contents[index];
    stored.cells = {stored.tensor.raw(), stored.tensor.bytes()};
    return stored;
  }
  const Entry& entry = manifest.entries[index];
  stored.file = io::MappedFile::open_below(folder, entry.file);
  stored.cells = stored.file->bytes();
  if (entry.format == Format::bin) return stored;
  stored.parsed = cells_of(stored.cells, entry, (folder / entry.file).string());
  stored.file.reset();
  stored.cells = stored.parsed;
  return stored;
}

Side side_of(Manifest manifest, std::vector<Tensor> contents, const std::string& name) {
  Side side{.name = name, .manifest = std::move(manifest), .contents = std::move(contents)};
  for (Entry& entry : side.manifest.entries) entry.layout = layout_for({}, entry.type.dims, entry.type.dtype, 8);
  side.bare.resize(side.manifest.entries.size());
  return side;
}

Side read_folder(const fs::path& folder) {
  Side side{.name = folder.string(), .manifest = {}, .folder = folder};
  std::error_code failed;
  const fs::path manifest = folder / kManifestFile;
  const bool described = fs::exists(manifest, failed);
  if (described) {
    side.manifest = parse_manifest(io::read_text_file(manifest), manifest.string());
    if (side.manifest.entries.empty()) fail(errors::dump_without_values(manifest.string(), "one or more"));
  } else {
    list_bare_files(side);
  }
  side.bare.assign(side.manifest.entries.size(), !described);
  std::vector<Diagnostic> wrong;
  for (size_t i = 0; i < side.manifest.entries.size(); ++i) {
    if (auto what = described ? contradiction(side.manifest.entries[i]) : std::nullopt) wrong.push_back(*what);
    std::ranges::copy(objections_to(side, i), std::back_inserter(wrong));
  }
  fail_on_any(std::move(wrong));
  if (described) note_changed(side);
  return side;
}

Side read_file(const fs::path& file, const std::string& like) {
  Side side{.name = file.string(), .manifest = {}, .folder = file.has_parent_path() ? file.parent_path() : "."};
  Entry entry;
  entry.name = entry.layer = like;
  entry.file = file.filename().string();
  const std::string ending = file.extension().string();
  entry.format = ending == ".npy" ? Format::npy : ending == ".txt" ? Format::txt : Format::bin;
  side.manifest.entries.push_back(entry);
  side.bare = {true};
  fail_on_any(objections_to(side, 0));
  return side;
}

void interpret(Side& side, const Side& other) {
  std::vector<std::string> known;
  for (const Entry& entry : other.manifest.entries) known.push_back(entry.name);
  const auto bare = std::ranges::count(side.bare, true);
  std::vector<Diagnostic> unknown;
  for (size_t i = 0; i < side.manifest.entries.size(); ++i) {
    if (!side.bare[i]) continue;
    Entry& entry = side.manifest.entries[i];
    const Entry* like = called(other.manifest, entry.name);
    if (like == nullptr) {
      unknown.push_back(errors::dump_value_unknown((side.folder / entry.file).string(), entry.name, other.name,
                                                   known_names(entry.name, known)));
      continue;
    }
    const Entry file = entry;
    entry = *like;
    entry.file = file.file;
    entry.format = file.format;
  }
  for (const Diagnostic& one : unknown) side.notes.push_back(one.message());
  if (static_cast<std::ptrdiff_t>(unknown.size()) == bare) fail_on_any(std::move(unknown));
}

void read_codes(Side& side, const Side& other) {
  for (size_t i = 0; i < side.contents.size(); ++i) {
    Entry& entry = side.manifest.entries[i];
    const Entry* like = other.manifest.find(entry.name);
    if (entry.type.dtype != DType::f32 || like == nullptr || !like->codes || !like->codes->scale) continue;
    if (const auto codes = codes_of(side.contents[i], *like->codes)) {
      side.contents[i] = *codes;
      entry.type = codes->type();
    }
  }
}

}  // namespace halfstep::board
