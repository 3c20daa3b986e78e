#include "halfstep/formats/builder/protobuf_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

const WireField* find_field(const WireMessage& message, uint64_t number) {
  const auto& fields = message.fields;
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const WireField& f) { return f.number == number; });
  return found == fields.end() ? nullptr : &*found;
}

/// Lists and raw_data of at least this many bytes stay in the file.
constexpr size_t kLong = 1024;
/// Upper bounds of protobuf's memory for a message, a string and a number.
constexpr size_t kMessageMemory = 200, kStringMemory = 48, kNumberMemory = 8;
/// Every length has this many bytes, because it is known only after the message is written.
constexpr size_t kLengthBytes = 5;

class Walker {
 public:
  Walker(std::span<const std::byte> bytes, const WireSchema& schema, const std::string& name, const WireLimits& limits)
      : bytes_(bytes), schema_(schema), name_(name), limits_(limits) {}

  std::string walk(size_t root) {
    frames_.push_back({root, bytes_.size(), 0});
    while (true) {
      while (at_ == frames_.back().end) {
        if (frames_.size() == 1) return std::move(out_);
        close_message();
      }
      field();
    }
  }

 private:
  struct Frame {
    size_t message;  ///< index in the schema
    size_t end;      ///< byte of the file after the message
    size_t length;   ///< position of its length in the result
  };

  [[noreturn]] void reject_field(size_t at, const std::string& found, const std::string& expected) const {
    fail(errors::message_field_wrong(name_, at, found, expected));
  }
  [[noreturn]] void reject_size(size_t at, const std::string& found, const std::string& expected) const {
    fail(errors::message_too_large(name_, at, found, expected));
  }

  uint64_t varint() {
    const size_t start = at_;
    uint64_t value = 0;
    if (!read_varint(bytes_.first(frames_.back().end), at_, value)) fail(errors::message_number_cut_off(name_, start));
    return value;
  }

  /// Returns the bytes of the field that starts here.
  size_t length(Wire wire) {
    const size_t start = at_;
    if (wire == Wire::varint) {
      varint();
      const size_t end = std::exchange(at_, start);
      return end - start;
    }
    const uint64_t size = wire == Wire::length ? varint() : wire == Wire::fixed32 ? 4 : 8;
    const size_t left = frames_.back().end - at_;
    if (size > left) fail(errors::message_cut_off(name_, start, "a field", size, left));
    return static_cast<size_t>(size);
  }

  void spend(size_t memory) {
    memory_ += memory;
    if (memory_ > limits_.memory)
      reject_size(at_, fmt::format("more than {} MiB of messages, names and numbers", limits_.memory >> 20), "");
  }

  void append_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void append_tag(uint32_t field, Wire wire) { append_varint(uint64_t{field} << 3 | static_cast<uint64_t>(wire)); }
  void append_bytes(std::span<const std::byte> bytes) {
    out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  void field() {
    const size_t start = at_;
    const uint64_t tag = varint();
    const uint64_t number = tag >> 3;
    const auto wire = static_cast<Wire>(tag & 7);
    if (number == 0 || number >= 1U << 29 || wire == Wire::group || wire == Wire::group_end || (tag & 7) > 5)
      reject_field(start, fmt::format("the tag {}", tag), "the tag of a field of a protobuf message");
    const size_t size = length(wire);
    const WireField* known = find_field(schema_[frames_.back().message], number);
    if (known == nullptr) {
      at_ += size;
    } else {
      keep(*known, wire, size, start);
    }
  }

  void keep(const WireField& field, Wire wire, size_t size, size_t start) {
    const bool is_list = field.holds == WireHolds::numbers || field.holds == WireHolds::values;
    const bool is_number = is_list || field.holds == WireHolds::number;
    const bool packed = is_list && wire == Wire::length;
    if (!packed && wire != (is_number ? field.element : Wire::length))
      reject_field(start, fmt::format("field {} with the wire type {}", field.number, static_cast<int>(wire)),
                   fmt::format("the wire type {}", static_cast<int>(is_number ? field.element : Wire::length)));
    switch (field.holds) {
      case WireHolds::message: return open_message(field, size, start);
      case WireHolds::name:
        if (size > limits_.name_bytes)
          reject_size(start, fmt::format("a name of {} bytes", size), fmt::format("at most {}", limits_.name_bytes));
        spend(kStringMemory + size);
        break;
      case WireHolds::text: spend(kStringMemory + size); break;
      case WireHolds::raw:
      case WireHolds::values:
        if (wire == Wire::length && size >= kLong) return leave_in_file(field, size);
        spend(kNumberMemory * (packed ? size : 1) + (is_list ? 0 : size));
        break;
      case WireHolds::numbers: spend(kNumberMemory * (packed ? size : 1)); break;
      case WireHolds::number: break;
    }
    append_bytes(bytes_.subspan(start, at_ - start + size));
    at_ += size;
  }

  void leave_in_file(const WireField& field, size_t size) {
    spend(kStringMemory + sizeof(Place));
    const std::string place = to_bytes({field.number, at_, size});
    append_tag(kPlaceField, Wire::length);
    append_varint(place.size());
    out_ += place;
    at_ += size;
  }

  void open_message(const WireField& field, size_t size, size_t start) {
    spend(kMessageMemory);
    if (frames_.size() >= limits_.depth)
      reject_size(start, fmt::format("more than {} messages inside each other", limits_.depth), "");
    const WireRole role = schema_[field.message].role;
    if (role == WireRole::graph && ++graphs_ > limits_.graphs)
      fail(errors::graphs_inside_each_other(name_, start, limits_.graphs));
    if (role == WireRole::node && ++nodes_ > limits_.nodes)
      reject_size(start, fmt::format("more than {} nodes", limits_.nodes), "");
    append_tag(field.number, Wire::length);
    frames_.push_back({field.message, at_ + size, out_.size()});
    out_.append(kLengthBytes, '\0');
  }

  void close_message() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (schema_[frame.message].role == WireRole::graph) --graphs_;
    size_t size = out_.size() - frame.length - kLengthBytes;
    if (size > (1ULL << 31) - 1) reject_size(at_, "a message of more than 2 GiB without its tensors", "");
    for (size_t i = 0; i < kLengthBytes; ++i, size >>= 7)
      out_[frame.length + i] = static_cast<char>((size & 0x7F) | (i + 1 < kLengthBytes ? 0x80 : 0));
  }

  std::span<const std::byte> bytes_;
  const WireSchema& schema_;
  const std::string& name_;
  const WireLimits& limits_;
  std::vector<Frame> frames_;
  std::string out_;
  size_t at_ = 0, memory_ = 0, nodes_ = 0, graphs_ = 0;
};

}  // namespace

bool read_varint(std::span<const std::byte> bytes, size_t& at, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint64_t>(bytes[at++]);
    if (shift == 63 && byte > 1) return false;
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::string to_bytes(const Place& place) {
  std::string bytes(sizeof place, '\0');
  std::memcpy(bytes.data(), &place, sizeof place);
  return bytes;
}

Place place_of(const std::string& bytes) {
  Place place{};
  HS_CHECK(bytes.size() == sizeof place);
  std::memcpy(&place, bytes.data(), sizeof place);
  return place;
}

std::string short_form(std::span<const std::byte> bytes, const WireSchema& schema, size_t root, const std::string& name,
                       const WireLimits& limits) {
  return Walker(bytes, schema, name, limits).walk(root);
}

}  // namespace halfstep::formats
