// What a folder of dumps has: manifest.json. docs/guides/debug_board.md has its keys.
#pragma once

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

/// What a value's file is.
enum class Format { bin, npy, txt };
std::string_view name(Format format);
/// Throws, starting with `where`, for what is not bin, npy or txt.
Format parse_format(std::string_view text, const std::string& where);

/// How codes read as reals.
struct Codes {
  std::optional<float> scale;  ///< none where the network does not say
  int64_t zero_point = 0, code_min = 0, code_max = 255;

  /// The least width that has all codes.
  int bits() const;
  bool operator==(const Codes&) const = default;
};

/// A value of a network and where it is.
struct Entry {
  std::string name = {};   ///< of the value or the tensor
  std::string layer = {};  ///< the operator that gives the value or reads the tensor
  std::string op = {};
  std::string what = "feature";  ///< "feature", or the port of the layer that a tensor is for: "w", "b", "multiplier"
  Type type = {DType::u8, {}};   ///< in the network; of samples [n, ...]
  std::optional<Codes> codes = {};  ///< none of reals and of parameters
  Layout layout = {};
  std::string file = {};
  Format format = Format::bin;
  int64_t bytes = 0;  ///< of the file
  Digests digests = {};

  bool is_feature() const { return what == "feature"; }
};

struct Manifest {
  std::string network, stage, road;
  int64_t samples = 0;
  std::string graph;  ///< text of the integer program, from which layers are computed again; "" where there is none
  std::vector<Entry> entries;  ///< in the order of execution, parameters before their layer

  const Entry* find(std::string_view name) const;
};

/// The same text for the same values.
std::string to_text(const Manifest& manifest);

/// Throws with everything that is wrong with it, each with its key; `where` starts the message.
Manifest parse_manifest(const std::string& text, const std::string& where);

/// "003_conv1.b.bin": what the value of that number is called in a folder, of letters that every system has.
std::string file_name(size_t number, const std::string& value, Format format);
/// The name of a value out of a file's, which may begin with a number.
std::string value_name(const std::filesystem::path& file);

}  // namespace halfstep::board
