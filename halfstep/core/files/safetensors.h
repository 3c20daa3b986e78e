// The safetensors format: tensors by name in one file, a JSON header in front.
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

/// Largest header that is read, in bytes: the bound of the format's own implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

/// `name` starts the messages. Nothing in `bytes` is trusted: sizes, offsets, overlaps and gaps, duplicate names and
/// booleans other than 0 and 1 are checked before anything is made of them. An element type that Halfstep lacks is
/// `unsupported`.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);
TensorFile read_safetensors(const std::filesystem::path& path);

/// The same bytes for the same contents: tensors and metadata in name order, header padded to 8 bytes. Names and
/// metadata must be UTF-8; a dtype that the format lacks must be packed first.
std::vector<std::byte> serialize_safetensors(const TensorFile& file);
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

/// Whether tensors of the dtype stand in a file as they are.
bool safetensors_has(DType dtype);

/// One-byte elements of a dtype that the format lacks as U8: several to a byte where they have fewer bits, the first in
/// the lowest ones, unused bits zero.
Tensor pack(const Tensor& codes);
/// The inverse, given the type of the codes; bad_input when the count does not fit, `name` starting the message.
Tensor unpack(const Tensor& packed, const Type& type, const std::string& name);

}  // namespace halfstep::io
