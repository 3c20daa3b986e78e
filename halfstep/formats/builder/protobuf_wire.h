// The protobuf wire format, walked before protobuf sees a file: limits, and a short form without what is not needed.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halfstep::formats {

/// The most extents that a tensor of a foreign file may have.
inline constexpr int kMaxRank = 64;
/// The most graphs, functions or blocks inside each other: it bounds our own recursion.
inline constexpr size_t kMaxNesting = 128;

enum class Wire : uint8_t { varint = 0, fixed64 = 1, length = 2, group = 3, group_end = 4, fixed32 = 5 };

/// What a field holds, and how much of it protobuf would have to keep.
enum class WireHolds : uint8_t {
  number,   ///< one varint or fixed number
  numbers,  ///< a list of varints or fixed numbers, packed or one by one
  values,   ///< the same of a tensor: stays in the file where it is long
  name,
  text,  ///< bytes of any length
  raw,   ///< bytes of a tensor: stay in the file where they are long
  message
};

struct WireField {
  uint32_t number;
  WireHolds holds;
  uint8_t message = 0;          ///< its position in the schema
  Wire element = Wire::varint;  ///< of a number, or of an element of a list
};

/// What limits apply to a message.
enum class WireRole : uint8_t { other, graph, node };

/// The fields that are read; others are left out.
struct WireMessage {
  std::span<const WireField> fields;
  WireRole role = WireRole::other;
};
using WireSchema = std::span<const WireMessage>;

/// What a file may have. Real files stay far below; the sums bound what protobuf allocates.
struct WireLimits {
  size_t depth = 400;            ///< messages inside each other
  size_t graphs = kMaxNesting;   ///< graphs inside each other
  size_t name_bytes = 65'535;    ///< of one name
  size_t nodes = 400'000;        ///< of all graphs and functions
  size_t memory = 128ULL << 20;  ///< of all messages, names and numbers outside of tensors, as they are held
};

/// The bytes without unknown fields, documentation and metadata. A `raw_data` or packed list of numbers of a tensor
/// that is long stays where it is: a field `place` says where. Memory is that of the result, which is no longer than
/// the input but for some bytes a message, and messages are limited. Throws bad_input that starts with `name` and says
/// at which byte.
std::string short_form(std::span<const std::byte> bytes, const WireSchema& schema, size_t root, const std::string& name,
                       const WireLimits& limits = {});

/// What a field `place` says, number kPlaceField of a message.
constexpr uint32_t kPlaceField = 15;
struct Place {
  uint64_t field, offset, length;
};
std::string to_bytes(const Place& place);
/// The inverse.
Place place_of(const std::string& bytes);

/// Reads a varint at `at`, which is moved behind it; false where there is none, or one of more than 64 bits.
bool read_varint(std::span<const std::byte> bytes, size_t& at, uint64_t& value);

}  // namespace halfstep::formats
