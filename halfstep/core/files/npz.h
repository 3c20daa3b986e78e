// NumPy's .npz format: a zip archive of .npy arrays (numpy.lib.format, versions 1 to 3).
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/source.h"

namespace halfstep::io {

/// Reads little-endian numbers and booleans in C or Fortran order, stored or compressed. Fortran order is transposed.
/// Big-endian, structured and object arrays are `unsupported`.
std::map<std::string, Tensor> read_npz(std::unique_ptr<SeekableSource> source);
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);

/// Writes arrays uncompressed, sorted by name, with the fixed date 1980-01-01, so that equal tensors produce equal
/// bytes. i4 is stored as int8. bf16, which NumPy lacks, is `unsupported`.
std::vector<std::byte> serialize_npz(const std::map<std::string, Tensor>& tensors);
void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

}  // namespace halfstep::io
