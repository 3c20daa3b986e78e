#include "halfstep/formats/onnx/tensor_data.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/onnx_messages.h"

namespace halfstep::formats::onnx {
namespace {

/// Numbers of fields of a TensorData.
constexpr uint64_t kFloats = 4, kInt32s = 5, kInt64s = 7, kRaw = 9, kDoubles = 10, kUint64s = 11;

/// Returns the bytes of a tensor in a file. Elements of less than a byte are packed.
uint64_t file_bytes(const Type& type) {
  const auto count = static_cast<uint64_t>(count_elements(type.dims));
  const auto bits = static_cast<uint64_t>(bits_of(type.dtype));
  return bits >= 8 ? count * (bits / 8) : ceil_div(count, 8 / bits);
}

[[noreturn]] void fail_count(uint64_t found, const char* unit, uint64_t expected, const Type& type,
                             const std::string& where) {
  fail(errors::tensor_size(where, found, unit, expected, to_string(type)));
}

void check_booleans(const Tensor& tensor, const std::string& where) {
  const auto bytes = std::span(tensor.raw(), tensor.bytes());
  if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    fail(errors::tensor_boolean(where));
}

/// Returns the part of the file that a place refers to. It was in range when the place was written.
std::span<const std::byte> part(const Place& place, std::span<const std::byte> file) {
  HS_CHECK(place.offset <= file.size() && place.length <= file.size() - place.offset);
  return file.subspan(place.offset, place.length);
}

/// Returns the list `field` of a tensor, with parts from the message and parts from the file.
template <class T, class List>
std::vector<T> numbers_of(const proto::TensorData& tensor, uint64_t field, const List& list,
                          std::span<const std::byte> file, const std::string& where) {
  std::vector<T> numbers(list.begin(), list.end());
  for (const std::string& text : tensor.place()) {
    const Place place = place_of(text);
    if (place.field != field) continue;
    const auto bytes = part(place, file);
    if constexpr (std::is_floating_point_v<T>) {
      const size_t count = bytes.size() / sizeof(T), before = numbers.size();
      if (count * sizeof(T) != bytes.size()) fail(errors::tensor_list_cut_off(where));
      numbers.resize(before + count);
      std::memcpy(numbers.data() + before, bytes.data(), bytes.size());
    } else {
      uint64_t value = 0;
      for (size_t at = 0; at < bytes.size(); numbers.push_back(static_cast<T>(value))) {
        if (!read_varint(bytes, at, value)) fail(errors::tensor_list_cut_off(where));
      }
    }
  }
  return numbers;
}

/// Converts numbers to elements of type To, modulo 2^bits as ONNX defines for the small types.
template <class To, class From>
Tensor converted(const std::vector<From>& numbers, const Type& type, const std::string& where) {
  const auto count = static_cast<uint64_t>(count_elements(type.dims));
  if (numbers.size() != count) fail_count(numbers.size(), "elements", count, type, where);
  Tensor tensor = Tensor::uninitialized(type.dtype, type.dims);
  std::transform(numbers.begin(), numbers.end(), tensor.data<To>().begin(),
                 [](From number) { return static_cast<To>(number); });
  return tensor;
}

Tensor from_int32s(const std::vector<int32_t>& numbers, const Type& type, const std::string& where) {
  switch (size_of(type.dtype)) {
    case 4: return converted<int32_t>(numbers, type, where);
    case 2:
      return stored_as<int16_t>(type.dtype) ? converted<int16_t>(numbers, type, where)
                                            : converted<uint16_t>(numbers, type, where);
    default: break;
  }
  std::vector<std::byte> bytes(numbers.size());
  std::transform(numbers.begin(), numbers.end(), bytes.begin(), [](int32_t n) { return static_cast<std::byte>(n); });
  return from_raw(bytes, type, nullptr, where);
}

/// Needed because uint32 and uint64 share a field.
Tensor from_uint64s(const std::vector<uint64_t>& numbers, const Type& type, const std::string& where) {
  const size_t width = size_of(type.dtype);
  std::vector<std::byte> bytes(numbers.size() * width);
  for (size_t i = 0; i < numbers.size(); ++i) std::memcpy(bytes.data() + i * width, &numbers[i], width);
  return from_raw(bytes, type, nullptr, where);
}

/// Returns ONNX's field for the elements of a type.
uint64_t field_of(DType dtype) {
  if (dtype == DType::f32) return kFloats;
  if (dtype == DType::f64) return kDoubles;
  if (dtype == DType::i64) return kInt64s;
  return name(dtype) == "u32" || name(dtype) == "u64" ? kUint64s : kInt32s;
}

bool has_raw(const proto::TensorData& tensor) {
  return tensor.has_raw_data() || std::any_of(tensor.place().begin(), tensor.place().end(),
                                              [](const std::string& text) { return place_of(text).field == kRaw; });
}

Tensor from_raw_field(const proto::TensorData& tensor, const Type& type, std::span<const std::byte> file,
                      const std::shared_ptr<const io::MappedFile>& owner, const std::string& where) {
  const std::string& raw = tensor.raw_data();
  if (tensor.place().empty()) return from_raw(std::as_bytes(std::span(raw)), type, nullptr, where);
  if (tensor.place_size() > 1 || tensor.has_raw_data()) fail(errors::tensor_elements_twice(where));
  return from_raw(part(place_of(tensor.place(0)), file), type, owner, where);
}

}  // namespace

Type type_of(const proto::TensorData& tensor, const std::string& where) {
  Type type{dtype_of(tensor.data_type(), where), {tensor.dims().begin(), tensor.dims().end()}};
  if (tensor.dims_size() > kMaxRank) fail(errors::rank_too_large(where, tensor.dims_size(), kMaxRank));
  if (std::any_of(type.dims.begin(), type.dims.end(), [](int64_t extent) { return extent < 0; }))
    fail(errors::negative_extents(where, to_string(type.dims)));
  try {
    count_elements(type.dims);
  } catch (const Error& error) {
    throw prefixed(where, error);
  }
  return type;
}

Tensor from_raw(std::span<const std::byte> bytes, const Type& type, const std::shared_ptr<const io::MappedFile>& owner,
                const std::string& where) {
  const uint64_t expected = file_bytes(type);
  if (bytes.size() != expected) fail_count(bytes.size(), "bytes", expected, type, where);
  if (bits_of(type.dtype) < 8) {
    const Tensor packed = Tensor::of<uint8_t>(DType::u8, {static_cast<int64_t>(bytes.size())},
                                              {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    return io::unpack(packed, type, where);
  }
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % size_of(type.dtype) == 0;
  if (owner != nullptr && aligned && !bytes.empty()) {
    Tensor tensor = Tensor::over(io::memory_of(owner, bytes), type);
    if (type.dtype == DType::boolean) check_booleans(tensor, where);
    return tensor;
  }
  Tensor tensor = Tensor::uninitialized(type.dtype, type.dims);
  std::copy(bytes.begin(), bytes.end(), tensor.raw());
  if (type.dtype == DType::boolean) check_booleans(tensor, where);
  return tensor;
}

Tensor from_message(const proto::TensorData& tensor, const Type& type, std::span<const std::byte> file,
                    const std::shared_ptr<const io::MappedFile>& owner, const std::string& where) {
  if (has_raw(tensor)) return from_raw_field(tensor, type, file, owner, where);
  const auto read = [&]<class T>(T, uint64_t field, const auto& list) {
    return numbers_of<T>(tensor, field, list, file, where);
  };
  switch (field_of(type.dtype)) {
    case kFloats: return converted<float>(read(float{}, kFloats, tensor.float_data()), type, where);
    case kDoubles: return converted<double>(read(double{}, kDoubles, tensor.double_data()), type, where);
    case kInt64s: return converted<int64_t>(read(int64_t{}, kInt64s, tensor.int64_data()), type, where);
    case kUint64s: return from_uint64s(read(uint64_t{}, kUint64s, tensor.uint64_data()), type, where);
    default: return from_int32s(read(int32_t{}, kInt32s, tensor.int32_data()), type, where);
  }
}

}  // namespace halfstep::formats::onnx
