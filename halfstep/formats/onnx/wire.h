// The protobuf wire format of ONNX files, walked before protobuf sees it: limits, and a short form without what is not
// needed.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halfstep::formats::onnx {

/// What a file may have. Real files stay far below; the sums bound what protobuf allocates.
struct WireLimits {
  size_t depth = 160;            ///< messages inside each other
  size_t graphs = 32;            ///< graphs inside each other
  size_t name_bytes = 65'535;    ///< of one name
  size_t nodes = 400'000;        ///< of all graphs and functions
  size_t memory = 128ULL << 20;  ///< of all messages, names and numbers outside of tensors, as they are held
};

enum class WireRoot { model, tensor };

/// The bytes without unknown fields, documentation and metadata. A `raw_data` or packed list of numbers of a tensor
/// that is long stays where it is: a TensorData.place says where. Memory is that of the result, which is no longer than
/// the input but for some bytes a message, and messages are limited. Throws bad_input that starts with `name` and says
/// at which byte.
std::string short_form(std::span<const std::byte> bytes, WireRoot root, const std::string& name,
                       const WireLimits& limits = {});

/// Whether the bytes start as a model does: known fields with their wire types, up to the graph.
bool looks_like_model(std::span<const std::byte> bytes);

/// What a TensorData.place says.
struct Place {
  uint64_t field, offset, length;
};
std::string to_bytes(const Place& place);
/// The inverse.
Place place_of(const std::string& bytes);

/// Reads a varint at `at`, which is moved behind it; false where there is none, or one of more than 64 bits.
bool read_varint(std::span<const std::byte> bytes, size_t& at, uint64_t& value);

}  // namespace halfstep::formats::onnx
