// Files of other systems as Models.
//
// Translation specializes: what is known when it happens (constants, shape arithmetic, values that the caller has) is
// computed at once, so that the Model has operators on data alone. docs/formats.md says more.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "halfstep/formats/builder/foreign_file.h"

namespace halfstep::formats {

/// What `file` imports. Throws unsupported with all that it lacks, and what to do about it.
Model import_whole(const File& file, const Binding& binding);

/// Opens a file of whichever format its content shows. Throws Error that starts with the path.
std::shared_ptr<const File> open(const std::filesystem::path& path);

/// The same for the bytes of an ONNX file, which must outlive it; `name` is what messages call them.
std::shared_ptr<const File> open_bytes(std::span<const std::byte> bytes, const std::string& name);

/// Whether `path` has, by its content, a format that `open` knows, or is no Model and ends as the files of such a
/// format do.
bool is_foreign(const std::filesystem::path& path);

}  // namespace halfstep::formats
