#include "halfstep/core/files/file_kind.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <vector>

namespace halfstep::io {
namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kExport = "export it to ONNX, for instance with torch.onnx.export(module, example, 'model.onnx')";
constexpr const char* kSamples = "pass samples separately from the network";

struct Signature {
  size_t at;
  std::string_view bytes;
  const char* what;
  const char* remedy;
};

constexpr std::array kSignatures = {
    Signature{0, "\x80\x02"sv, "a Python pickle, as in old PyTorch files", kExport},
    Signature{0, "\x89PNG"sv, "a PNG image", kSamples},
    Signature{0, "\xFF\xD8\xFF"sv, "a JPEG image", kSamples},
    Signature{0, "\x1F\x8B"sv, "a file compressed by gzip", "decompress it first, or pass it as samples"},
    Signature{0, "\x89HDF"sv, "an HDF5 file, for example from Keras", "export it to ONNX, for instance with tf2onnx"},
    Signature{4, "TFL3"sv, "a TensorFlow Lite file", "export its source network to ONNX"},
    Signature{0, "#!"sv, "a script", ""},
    Signature{0, "graph "sv, "the text of a graph", "train --network reads it, and inspect"},
};

/// Detects the kind of a zip archive by its first member.
FileKind kind_of_zip(std::string_view head) {
  if (head.find("/data.pkl") != std::string_view::npos || head.find("/version") != std::string_view::npos ||
      head.find("/.format_version") != std::string_view::npos)
    return {"a PyTorch file", kExport};
  if (head.find(".npy") != std::string_view::npos) return {"an npz of arrays", kSamples};
  return {"a zip archive", kSamples};
}

/// Detects a folder of networks and names up to kMost of them.
FileKind kind_of_folder(const std::filesystem::path& path) {
  constexpr size_t kMost = 4;
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
    const auto extension = entry.path().extension();
    if (extension == ".safetensors" || extension == ".onnx") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  names.resize(std::min(names.size(), kMost));
  return {"a folder", names.empty() ? "" : fmt::format("choose a file in it, such as {}", fmt::join(names, ", "))};
}

bool is_text(std::string_view head) {
  return !head.empty() && std::ranges::none_of(head, [](char byte) {
    return static_cast<unsigned char>(byte) < ' ' && byte != '\n' && byte != '\r' && byte != '\t';
  });
}

}  // namespace

FileKind file_kind(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return kind_of_folder(path);
  std::ifstream stream(path, std::ios::binary);
  std::array<char, 256> bytes{};
  stream.read(bytes.data(), bytes.size());
  const std::string_view head(bytes.data(), static_cast<size_t>(stream.gcount()));
  if (stream.eof() && head.empty()) return {"an empty file", "check that it was written completely"};
  if (head.starts_with("PK\x03\x04")) return kind_of_zip(head);
  for (const Signature& known : kSignatures) {
    if (head.size() > known.at && head.substr(known.at).starts_with(known.bytes)) return {known.what, known.remedy};
  }
  return is_text(head) ? FileKind{"a text", ""} : FileKind{};
}

}  // namespace halfstep::io
