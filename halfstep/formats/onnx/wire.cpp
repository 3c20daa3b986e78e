#include "halfstep/formats/onnx/wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "halfstep/base/status.h"

namespace halfstep::formats::onnx {
namespace {

enum class Wire : uint8_t { varint = 0, fixed64 = 1, length = 2, group = 3, group_end = 4, fixed32 = 5 };

enum class Kind : uint8_t {
  model,
  opset,
  graph,
  node,
  attribute,
  value_info,
  type,
  tensor_type,
  other_type,
  shape,
  dimension,
  tensor,
  sparse,
  entry,
  function
};

/// What a field holds, and how much of it protobuf would have to keep.
enum class Holds : uint8_t {
  number,   ///< one varint or fixed number
  numbers,  ///< a list of varints or fixed numbers, packed or one by one
  values,   ///< the same of a tensor: stays in the file where it is long
  name,
  text,  ///< bytes of any length
  raw,   ///< bytes of a tensor: stay in the file where they are long
  message
};

struct Field {
  uint32_t number;
  Holds holds;
  Kind kind = Kind::model;
  Wire element = Wire::varint;  ///< of a number, or of an element of a list
};

std::span<const Field> fields_of(Kind kind) {
  using enum Holds;
  static constexpr std::array kModel = {Field{1, number},
                                        Field{2, name},
                                        Field{3, name},
                                        Field{7, message, Kind::graph},
                                        Field{8, message, Kind::opset},
                                        Field{25, message, Kind::function}};
  static constexpr std::array kOpset = {Field{1, name}, Field{2, number}};
  static constexpr std::array kGraph = {Field{1, message, Kind::node},        Field{2, name},
                                        Field{5, message, Kind::tensor},      Field{11, message, Kind::value_info},
                                        Field{12, message, Kind::value_info}, Field{15, message, Kind::sparse}};
  static constexpr std::array kNode = {
      Field{1, name}, Field{2, name}, Field{3, name}, Field{4, name}, Field{5, message, Kind::attribute},
      Field{7, name}, Field{8, name}};
  static constexpr std::array kAttribute = {Field{1, name},
                                            Field{2, number, Kind::model, Wire::fixed32},
                                            Field{3, number},
                                            Field{4, text},
                                            Field{5, message, Kind::tensor},
                                            Field{6, message, Kind::graph},
                                            Field{7, numbers, Kind::model, Wire::fixed32},
                                            Field{8, numbers},
                                            Field{9, text},
                                            Field{20, number},
                                            Field{21, name}};
  static constexpr std::array kValueInfo = {Field{1, name}, Field{2, message, Kind::type}};
  static constexpr std::array kType = {Field{1, message, Kind::tensor_type}, Field{4, message, Kind::other_type},
                                       Field{5, message, Kind::other_type}, Field{8, message, Kind::other_type},
                                       Field{9, message, Kind::other_type}};
  static constexpr std::array kTensorType = {Field{1, number}, Field{2, message, Kind::shape}};
  static constexpr std::array<Field, 0> kOtherType = {};
  static constexpr std::array kShape = {Field{1, message, Kind::dimension}};
  static constexpr std::array kDimension = {Field{1, number}, Field{2, name}};
  static constexpr std::array kTensor = {Field{1, numbers},
                                         Field{2, number},
                                         Field{4, values, Kind::model, Wire::fixed32},
                                         Field{5, values},
                                         Field{6, text},
                                         Field{7, values},
                                         Field{8, name},
                                         Field{9, raw},
                                         Field{10, values, Kind::model, Wire::fixed64},
                                         Field{11, values},
                                         Field{13, message, Kind::entry},
                                         Field{14, number}};
  static constexpr std::array kSparse = {Field{1, message, Kind::tensor}};
  static constexpr std::array kEntry = {Field{1, name}, Field{2, name}};
  static constexpr std::array kFunction = {Field{1, name},
                                           Field{4, name},
                                           Field{5, name},
                                           Field{6, name},
                                           Field{7, message, Kind::node},
                                           Field{9, message, Kind::opset},
                                           Field{10, name},
                                           Field{11, message, Kind::attribute},
                                           Field{13, name}};
  switch (kind) {
    case Kind::model: return kModel;
    case Kind::opset: return kOpset;
    case Kind::graph: return kGraph;
    case Kind::node: return kNode;
    case Kind::attribute: return kAttribute;
    case Kind::value_info: return kValueInfo;
    case Kind::type: return kType;
    case Kind::tensor_type: return kTensorType;
    case Kind::other_type: return kOtherType;
    case Kind::shape: return kShape;
    case Kind::dimension: return kDimension;
    case Kind::tensor: return kTensor;
    case Kind::sparse: return kSparse;
    case Kind::entry: return kEntry;
    case Kind::function: return kFunction;
  }
  return {};
}

const Field* find_field(Kind kind, uint64_t number) {
  const auto fields = fields_of(kind);
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.number == number; });
  return found == fields.end() ? nullptr : &*found;
}

/// Bytes of a list or of raw_data from which on it stays in the file.
constexpr size_t kLong = 1024;
/// Generous sizes of what protobuf makes of a message and of a string.
constexpr size_t kMessageMemory = 200, kStringMemory = 48, kNumberMemory = 8;
/// A length is written in this many bytes, whatever it is: it becomes known behind the message.
constexpr size_t kLengthBytes = 5;
constexpr uint32_t kPlaceField = 15;

class Walker {
 public:
  Walker(std::span<const std::byte> bytes, const std::string& name, const WireLimits& limits)
      : bytes_(bytes), name_(name), limits_(limits) {}

  std::string walk(Kind root) {
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
    Kind kind;
    size_t end;     ///< byte of the file behind the message
    size_t length;  ///< byte of the result where its length belongs
  };

  [[noreturn]] void reject(size_t at, const std::string& what) const { fail("{}: byte {}: {}", name_, at, what); }

  uint64_t varint() {
    const size_t start = at_;
    uint64_t value = 0;
    if (!read_varint(bytes_.first(frames_.back().end), at_, value))
      reject(start, "the message ends inside a number, or the number is too long");
    return value;
  }

  /// The bytes of the field that starts here.
  size_t length(Wire wire) {
    const size_t start = at_;
    if (wire == Wire::varint) {
      varint();
      const size_t end = std::exchange(at_, start);
      return end - start;
    }
    const uint64_t size = wire == Wire::length ? varint() : wire == Wire::fixed32 ? 4 : 8;
    const size_t left = frames_.back().end - at_;
    if (size > left)
      reject(start,
             fmt::format("found a field of {} bytes where {} are left: the file is cut off or damaged", size, left));
    return static_cast<size_t>(size);
  }

  void spend(size_t memory) {
    memory_ += memory;
    if (memory_ > limits_.memory)
      reject(at_, fmt::format("found more than {} MiB of messages, names and numbers", limits_.memory >> 20));
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
      reject(start, "found no field of a protobuf message");
    const size_t size = length(wire);
    const Field* known = find_field(frames_.back().kind, number);
    if (known == nullptr) {
      at_ += size;
    } else {
      keep(*known, wire, size, start);
    }
  }

  void keep(const Field& field, Wire wire, size_t size, size_t start) {
    const bool is_list = field.holds == Holds::numbers || field.holds == Holds::values;
    const bool is_number = is_list || field.holds == Holds::number;
    const bool packed = is_list && wire == Wire::length;
    if (!packed && wire != (is_number ? field.element : Wire::length))
      reject(start, fmt::format("field {} has the wire type {}", field.number, static_cast<int>(wire)));
    switch (field.holds) {
      case Holds::message: return open_message(field, size, start);
      case Holds::name:
        if (size > limits_.name_bytes)
          reject(start, fmt::format("found a name of {} bytes, expected at most {}", size, limits_.name_bytes));
        spend(kStringMemory + size);
        break;
      case Holds::text: spend(kStringMemory + size); break;
      case Holds::raw:
      case Holds::values:
        if (wire == Wire::length && size >= kLong) return leave_in_file(field, size);
        spend(kNumberMemory * (packed ? size : 1) + (is_list ? 0 : size));
        break;
      case Holds::numbers: spend(kNumberMemory * (packed ? size : 1)); break;
      case Holds::number: break;
    }
    append_bytes(bytes_.subspan(start, at_ - start + size));
    at_ += size;
  }

  void leave_in_file(const Field& field, size_t size) {
    spend(kStringMemory + sizeof(Place));
    const std::string place = to_bytes({field.number, at_, size});
    append_tag(kPlaceField, Wire::length);
    append_varint(place.size());
    out_ += place;
    at_ += size;
  }

  void open_message(const Field& field, size_t size, size_t start) {
    spend(kMessageMemory);
    if (frames_.size() >= limits_.depth)
      reject(start, fmt::format("found more than {} messages inside each other", limits_.depth));
    if (field.kind == Kind::graph && ++graphs_ > limits_.graphs)
      reject(start, fmt::format("found more than {} graphs inside each other", limits_.graphs));
    if (field.kind == Kind::node && ++nodes_ > limits_.nodes)
      reject(start, fmt::format("found more than {} nodes", limits_.nodes));
    append_tag(field.number, Wire::length);
    frames_.push_back({field.kind, at_ + size, out_.size()});
    out_.append(kLengthBytes, '\0');
  }

  void close_message() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.kind == Kind::graph) --graphs_;
    size_t size = out_.size() - frame.length - kLengthBytes;
    if (size > (1ULL << 31) - 1) reject(at_, "found a message of more than 2 GiB without its tensors");
    for (size_t i = 0; i < kLengthBytes; ++i, size >>= 7)
      out_[frame.length + i] = static_cast<char>((size & 0x7F) | (i + 1 < kLengthBytes ? 0x80 : 0));
  }

  std::span<const std::byte> bytes_;
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

std::string short_form(std::span<const std::byte> bytes, WireRoot root, const std::string& name,
                       const WireLimits& limits) {
  return Walker(bytes, name, limits).walk(root == WireRoot::model ? Kind::model : Kind::tensor);
}

bool looks_like_model(std::span<const std::byte> bytes) {
  constexpr size_t kSome = 4096;  // fields before the graph
  size_t at = 0;
  for (size_t i = 0; i < kSome && at < bytes.size(); ++i) {
    uint64_t tag = 0, size = 0;
    if (!read_varint(bytes, at, tag)) return false;
    const uint64_t number = tag >> 3;
    const bool is_number = number == 1 || number == 5;
    const bool is_bytes =
        (number >= 2 && number <= 8 && number != 5) || number == 14 || number == 20 || number == 25 || number == 26;
    if ((tag & 7) != (is_number ? 0 : 2) || !(is_number || is_bytes)) return false;
    if (number == 7) return true;
    if (!read_varint(bytes, at, size)) return false;
    if (is_bytes && size > bytes.size() - at) return false;
    if (is_bytes) at += static_cast<size_t>(size);
  }
  return false;
}

}  // namespace halfstep::formats::onnx
