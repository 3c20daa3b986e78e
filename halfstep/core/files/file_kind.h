// What a file is by its first bytes, for messages about files that are something else than what was asked for.
#pragma once

#include <filesystem>
#include <string>

namespace halfstep::io {

/// A kind of file that is no network of ours, as a sentence has it, and what to do with it.
struct FileKind {
  std::string what;    ///< "a PyTorch file"; "" for a file whose kind is not known
  std::string remedy;  ///< "export it to ONNX, ..."; may be empty
};

/// Reads the first bytes alone; nothing is thrown for a file that cannot be read.
FileKind file_kind(const std::filesystem::path& path);

}  // namespace halfstep::io
