// Imports files of other systems as Models.
//
// The importer specializes: it computes everything that is known (constants, shape arithmetic, given values)
// immediately, so that the Model only has operators on data. See docs/reference/formats.md.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "halfstep/formats/builder/foreign_file.h"

namespace halfstep::formats {

/// Imports the file. Throws unsupported with all unsupported parts and their remedies.
Model import_whole(const File& file, const Binding& binding);

/// Opens a file of any supported format, recognized by its content. Throws Error that starts with the path.
std::shared_ptr<const File> open(const std::filesystem::path& path);

/// Opens the bytes of an ONNX file, which must outlive it. `name` identifies them in messages.
std::shared_ptr<const File> open_bytes(std::span<const std::byte> bytes, const std::string& name);

/// Whether the content of `path` has a format that `open` supports. A path that is not a Model also counts if it has
/// the file extension of such a format.
bool is_foreign(const std::filesystem::path& path);

}  // namespace halfstep::formats
