// Scans the protobuf wire format before protobuf parses a file. Checks limits and removes unneeded fields.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halfstep::formats {

/// Maximum rank of a tensor in a foreign file.
inline constexpr int kMaxRank = 64;
/// Maximum nesting of graphs, functions or blocks, which bounds the importer's recursion.
inline constexpr size_t kMaxNesting = 128;

enum class Wire : uint8_t { varint = 0, fixed64 = 1, length = 2, group = 3, group_end = 4, fixed32 = 5 };

/// Content of a field, which determines the memory that protobuf needs for it.
enum class WireHolds : uint8_t {
  number,   ///< one varint or fixed number
  numbers,  ///< a list of varints or fixed numbers, packed or one by one
  values,   ///< numbers of a tensor, which stay in the file if the list is long
  name,
  text,  ///< bytes of any length
  raw,   ///< bytes of a tensor, which stay in the file if they are long
  message
};

struct WireField {
  uint32_t number;
  WireHolds holds;
  uint8_t message = 0;          ///< index of the message in the schema
  Wire element = Wire::varint;  ///< wire type of a number, or of an element of a list
};

/// Selects the limits of a message.
enum class WireRole : uint8_t { other, graph, node };

/// Fields that are read. Others are removed.
struct WireMessage {
  std::span<const WireField> fields;
  WireRole role = WireRole::other;
};
using WireSchema = std::span<const WireMessage>;

/// Limits on a file. Real files stay far below. The sums bound protobuf's allocations.
struct WireLimits {
  size_t depth = 400;            ///< nesting of messages
  size_t graphs = kMaxNesting;   ///< nesting of graphs
  size_t name_bytes = 65'535;    ///< maximum length of one name
  size_t nodes = 400'000;        ///< total of all graphs and functions
  size_t memory = 128ULL << 20;  ///< total of all messages, names and numbers outside of tensors, in memory
};

/// Returns the bytes without unknown fields, documentation and metadata. A long `raw_data` or packed list of numbers of
/// a tensor stays in the file, and a field `place` refers to it. The result is no longer than the input except for some
/// bytes per message, and messages are limited. Throws bad_input, starting with `name` and the position of the byte.
std::string short_form(std::span<const std::byte> bytes, const WireSchema& schema, size_t root, const std::string& name,
                       const WireLimits& limits = {});

/// Contents of a field `place`, which has the number kPlaceField in a message.
constexpr uint32_t kPlaceField = 15;
struct Place {
  uint64_t field, offset, length;
};
std::string to_bytes(const Place& place);
/// Parses the contents of a field `place`.
Place place_of(const std::string& bytes);

/// Reads a varint at `at` and moves `at` behind it. Returns false if there is none, or if it has more than 64 bits.
bool read_varint(std::span<const std::byte> bytes, size_t& at, uint64_t& value);

}  // namespace halfstep::formats
