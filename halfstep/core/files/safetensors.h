// The safetensors format: named tensors in one file, after a JSON header.
// https://github.com/huggingface/safetensors, README, "Format".
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::io {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Largest accepted header in bytes, the limit of the format's own implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Parses untrusted bytes. Checks sizes, offsets, overlaps, gaps, duplicate names, and booleans other than 0 and 1
/// before it creates a tensor. An element type that Halfstep lacks is `unsupported`. `name` starts the messages.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);
TensorFile read_safetensors(const std::filesystem::path& path);

/// Writes tensors and metadata sorted by name, with the header padded to 8 bytes, so that equal contents produce equal
/// bytes. Names and metadata must be UTF-8. A dtype that the format lacks must be packed first.
std::vector<std::byte> serialize_safetensors(const TensorFile& file);
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

/// Whether the format has this dtype, so that tensors need no packing.
bool safetensors_has(DType dtype);

/// Packs one-byte elements of a dtype that the format lacks into U8. Elements of fewer bits share a byte: the first one
/// is in the lowest bits, and unused bits are zero.
Tensor pack(const Tensor& codes);
/// Inverse of `pack`. `type` is the type of the codes. Throws bad_input, starting with `name`, if the count does not
/// match.
Tensor unpack(const Tensor& packed, const Type& type, const std::string& name);

}  // namespace halfstep::io
