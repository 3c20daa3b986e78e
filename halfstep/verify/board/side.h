// One side of a comparison: a folder of dumps or bare files, a single file, arrays of another framework, or values in
// memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/files/mapped_file.h"
#include "halfstep/verify/board/manifest.h"

namespace halfstep::board {

/// Cells of a value in memory, or in a mapped file whose pages are loaded on access.
struct Stored {
  std::shared_ptr<const io::MappedFile> file;
  std::vector<std::byte> parsed;
  Tensor tensor;
  std::span<const std::byte> cells;

  /// Releases pages that were read.
  void forget(std::span<const std::byte> part) const;
};

struct Side {
  std::string name;  ///< name in messages
  Manifest manifest;
  std::filesystem::path folder = {};    ///< folder of the entries' files
  std::vector<Tensor> contents = {};    ///< by entry, if in memory
  std::vector<bool> bare = {};          ///< by entry: a file without a description
  std::vector<std::string> notes = {};  ///< remarks about this side

  /// The cells of a value. Throws if the file cannot be read.
  Stored open(size_t entry) const;
};

/// Values in memory, in the layout of tensors.
Side side_of(Manifest manifest, std::vector<Tensor> contents, const std::string& name);

/// A folder of dumps, or of bare files named after values. Throws an Error that lists all missing, truncated and empty
/// files.
Side read_folder(const std::filesystem::path& folder);

/// A bare file with the value named `like`.
Side read_file(const std::filesystem::path& file, const std::string& like);

/// Takes the descriptions of bare values in `side` from `other`. Values without a description become notes. Throws if
/// `other` has none of them.
void interpret(Side& side, const Side& other);

/// Converts float arrays that contain exact codes of `other` to these codes. Other frameworks compute such values
/// between dequantize and quantize.
void read_codes(Side& side, const Side& other);

}  // namespace halfstep::board
