#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/little_endian.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/files/safetensors_header.h"
#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/hash.h"
#include "halfstep/core/ir/metadata/metadata_json.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/source_file.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"

namespace halfstep {
namespace {

using detail::Hash;

constexpr std::string_view kVersionKey = "halfstep.version";
constexpr std::string_view kGraphKey = "halfstep.graph";
constexpr std::string_view kChecksumKey = "halfstep.checksum";
constexpr const char* kPrefix = "halfstep.";
constexpr size_t kHeaderLengthBytes = 8;

constexpr std::string_view kBlankChecksum = "00000000000000000000000000000000";
static_assert(kBlankChecksum.size() == Hash::kHexDigits);

/// Metadata texts of a file, by key.
using Texts = std::map<std::string, std::string>;

/// Returns the offset of the checksum's digits, or nullopt if the file has no checksum as `serialize` writes it. The
/// search is unambiguous: in a string of the JSON header the quotes of the pattern would be escaped, and only the
/// header precedes the data.
std::optional<size_t> checksum_position(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string field = fmt::format("\"{}\":\"", kChecksumKey);
  const size_t found = text.find(field);
  if (found == std::string_view::npos || bytes.size() - found - field.size() < Hash::kHexDigits) return std::nullopt;
  return found + field.size();
}

std::string checksum(std::span<const std::byte> bytes, size_t position) {
  Hash hash;
  hash.update(bytes.first(position));
  hash.update(kBlankChecksum);
  hash.update(bytes.subspan(position + Hash::kHexDigits));
  return hash.hex128();
}

const std::string& text_at(const Texts& texts, std::string_view key, const std::string& name) {
  const auto found = texts.find(std::string(key));
  if (found == texts.end()) fail(errors::not_a_model_file(name, key));
  return found->second;
}

int version_of(const Texts& texts, const std::string& name) {
  const std::string& text = text_at(texts, kVersionKey, name);
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 1)
    fail(errors::model_version_malformed(name, quote(text)));
  if (version > kModelFileVersion) fail(errors::model_version_newer(name, version, kModelFileVersion));
  return version;
}

void check_checksum(const Texts& texts, std::span<const std::byte> bytes, const std::string& name) {
  const std::string& stored = text_at(texts, kChecksumKey, name);
  const std::optional<size_t> position = checksum_position(bytes);
  if (!position || stored != checksum(bytes, *position)) fail(errors::model_checksum(name));
}

/// Unpacks tensors to the code types that the graph declares.
void unpack_codes(Model& model, const std::string& name) {
  for (const Value declared : model.graph.tensors()) {
    const auto found = model.tensors.find(declared.name());
    if (found == model.tensors.end()) continue;
    found->second = detail::unpacked(found->second, declared, name);
  }
}

/// Returns the result of `write`. Reports names and texts that are not UTF-8 as an Error.
template <class Write>
auto as_utf8(const Model& model, const Write& write) {
  try {
    return write();
  } catch (const nlohmann::json::exception&) {
    fail(errors::text_not_utf8(model.graph.name()));
  }
}

/// Serializes with a blank checksum.
std::vector<std::byte> encode(const Model& model) {
  constexpr const char* kReserved = "__metadata__";
  io::TensorFile file;
  for (const auto& [name, tensor] : model.tensors) file.tensors.emplace(name, detail::packed(tensor));
  if (file.tensors.contains(kReserved)) fail(errors::reserved_tensor_name(model.graph.name(), kReserved));
  file.metadata.emplace(kVersionKey, std::to_string(kModelFileVersion));
  file.metadata.emplace(kGraphKey, print(model.graph, {.locations = true}));
  file.metadata.emplace(kChecksumKey, kBlankChecksum);
  return as_utf8(model, [&] {
    file.metadata.emplace(std::string(kPrefix) + detail::kMetadata, detail::metadata_text(model.metadata));
    if (model.source) detail::add_source(file, model);
    return io::serialize_safetensors(file);
  });
}

}  // namespace

std::string metadata_json(const Model& model) {
  return as_utf8(model, [&] { return detail::metadata_text(model.metadata); });
}

std::vector<std::byte> serialize(const Model& model) {
  check(model);
  std::vector<std::byte> bytes = encode(model);
  const std::optional<size_t> position = checksum_position(bytes);
  HS_CHECK(position.has_value());
  const std::string digits = checksum(bytes, *position);
  std::memcpy(bytes.data() + *position, digits.data(), digits.size());
  return bytes;
}

Model deserialize(std::span<const std::byte> bytes, const std::string& name) {
  io::TensorFile file = io::parse_safetensors(bytes, name);
  const std::string& text = text_at(file.metadata, kGraphKey, name);
  const int version = version_of(file.metadata, name);
  check_checksum(file.metadata, bytes, name);
  Model model;
  model.graph = parse(text, name + ": graph", {.locations = false});
  model.metadata = detail::metadata_in(file, version, kPrefix, model.graph, name);
  model.source = detail::take_source(file, version, name);
  model.tensors = std::move(file.tensors);
  unpack_codes(model, name);
  detail::with_prefix(name, [&] {
    verify(model.graph);
    check(model);
  });
  return model;
}

void save_model(const Model& model, const std::filesystem::path& path) { io::write_file(path, serialize(model)); }

Model load_model(const std::filesystem::path& path) { return deserialize(io::read_file(path), path.string()); }

bool is_model_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<std::byte, kHeaderLengthBytes> prefix;
  if (!stream.read(reinterpret_cast<char*>(prefix.data()), prefix.size())) return false;
  const auto length = io::load_little_endian<uint64_t>(prefix);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error || length > std::min<uint64_t>(size, io::kMaxSafetensorsHeader)) return false;
  std::string header(static_cast<size_t>(length), '\0');
  if (!stream.read(header.data(), static_cast<std::streamsize>(length))) return false;
  try {
    return io::parse_safetensors_header(header, path.string()).metadata.contains(std::string(kGraphKey));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace halfstep
