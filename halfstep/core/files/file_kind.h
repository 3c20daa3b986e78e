// Detects the kind of a file by its first bytes, for messages about unexpected files.
#pragma once

#include <filesystem>
#include <string>

namespace halfstep::io {

/// Kind of a file that is not a Halfstep network, for use in a sentence, and the remedy.
struct FileKind {
  std::string what;    ///< "a PyTorch file"; "" if the kind is unknown
  std::string remedy;  ///< "export it to ONNX, ..."; may be empty
};

/// Reads only the first bytes. Does not throw if the file cannot be read.
FileKind file_kind(const std::filesystem::path& path);

}  // namespace halfstep::io
