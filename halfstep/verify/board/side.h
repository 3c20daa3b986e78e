// One of two that are compared: a folder of dumps or of bare files, a file, arrays of another framework, or values in
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

/// Cells of a value in memory, or in a file whose pages are read when they are looked at.
struct Stored {
  std::shared_ptr<const io::MappedFile> file;
  std::vector<std::byte> parsed;
  Tensor tensor;
  std::span<const std::byte> cells;

  /// Gives pages back that were looked at.
  void forget(std::span<const std::byte> part) const;
};

struct Side {
  std::string name;  ///< what messages call it
  Manifest manifest;
  std::filesystem::path folder = {};    ///< of the entries' files
  std::vector<Tensor> contents = {};    ///< by entry, where they are in memory
  std::vector<bool> bare = {};          ///< by entry: a file of which nothing is known but its bytes
  std::vector<std::string> notes = {};  ///< what to know of it

  /// The cells of a value; throws for a file that cannot be read.
  Stored open(size_t entry) const;
};

/// Values in memory, as they lie there.
Side side_of(Manifest manifest, std::vector<Tensor> contents, const std::string& name);

/// A folder of dumps, or one of bare files that are called as values are; throws with all that is missing, cut or of
/// no bytes.
Side read_folder(const std::filesystem::path& folder);

/// One bare file with the value `like`.
Side read_file(const std::filesystem::path& file, const std::string& like);

/// What `bare` values of `side` are, as `other` has them; throws where it has none of these names, or a size does not
/// fit and nothing explains it.
void interpret(Side& side, const Side& other);

/// Arrays of reals that are exactly codes of `other` become these: what another framework computes between dequantize
/// and quantize.
void read_codes(Side& side, const Side& other);

}  // namespace halfstep::board
