// The manifest of a folder of dumps, manifest.json. See docs/guides/debug_board.md for its keys.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/verify/board/digest.h"
#include "halfstep/verify/board/layout.h"

namespace halfstep::board {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr int kManifestSchema = 1;

/// File format of a value.
enum class Format { bin, npy, txt };
/// Names of the enumerators, as options take them.
constexpr std::array<std::string_view, 3> choices_of(Format) { return {"bin", "npy", "txt"}; }
std::string_view name(Format format);
/// Throws for texts other than bin, npy or txt, with a message that starts with `where`.
Format parse_format(std::string_view text, const std::string& where);

/// The relation of codes and real values.
struct Codes {
  std::optional<float> scale;  ///< absent if the network does not specify it
  int64_t zero_point = 0, code_min = 0, code_max = 255;

  /// The smallest bit width that contains all codes.
  int bits() const;
  bool operator==(const Codes&) const = default;
};

/// A value of a network, and its file.
struct Entry {
  std::string name = {};   ///< name of the value or tensor
  std::string layer = {};  ///< operator that computes the value or reads the tensor
  std::string op = {};
  std::string what =
      "activation";  ///< "activation", or the port of the layer that reads the tensor: "w", "b", "multiplier"
  Type type = {DType::u8, {}};      ///< type in the network, for samples [n, ...]
  std::optional<Codes> codes = {};  ///< absent for float values and parameters
  Layout layout = {};
  std::string file = {};
  Format format = Format::bin;
  int64_t bytes = 0;  ///< size of the file
  Digests digests = {};

  bool is_activation() const { return what == "activation"; }
};

struct Manifest {
  std::string network, stage, path;
  int64_t samples = 0;
  std::string graph;           ///< text of the integer program for recomputing layers, "" if unknown
  std::vector<Entry> entries;  ///< in execution order, parameters before their layer

  const Entry* find(std::string_view name) const;
};

/// Serializes a manifest. Equal values have equal text.
std::string to_text(const Manifest& manifest);

/// Throws an Error that lists all mistakes with their keys. The message starts with `where`.
Manifest parse_manifest(const std::string& text, const std::string& where);

/// The file name of value `number`, for example "003_conv1.b.bin". Only contains characters that every system allows.
std::string file_name(size_t number, const std::string& value, Format format);
/// The name of a value from its file name, which can begin with a number.
std::string value_name(const std::filesystem::path& file);

}  // namespace halfstep::board
