#include "halfstep/verify/board/value_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/verify/board/errors.h"

namespace halfstep::board {
namespace {

/// Cells as an array with their shape in the file.
Tensor array_of(std::span<const std::byte> cells, const Entry& entry) {
  const Type type = stored_type(entry.type, entry.layout);
  Tensor array = Tensor::uninitialized(type.dtype, type.dims);
  HS_CHECK(array.bytes() == cells.size());
  if (!cells.empty()) std::memcpy(array.raw(), cells.data(), cells.size());
  return array;
}

/// One number in each line.
std::vector<std::byte> text_of(const Tensor& array) {
  std::string text;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = element(array, i);
    text += array.dtype() == DType::f32 ? fmt::format("{}\n", static_cast<float>(value)) : fmt::format("{}\n", value);
  }
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> parsed_text(std::span<const std::byte> file, const Entry& entry, const std::string& where) {
  const Type type = stored_type(entry.type, entry.layout);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  std::vector<double> values;
  size_t line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    double value = 0;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || last != word.data() + word.size() || !can_hold(type.dtype, value))
      fail(errors::dump_file_unfit(fmt::format("{}:{}", where, line), fmt::format("'{}'", word),
                                   fmt::format("a number of type {}", halfstep::name(type.dtype))));
    values.push_back(value);
    at = end + 1;
  }
  Tensor array(type.dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) set_element(array, static_cast<int64_t>(i), values[i]);
  return {array.raw(), array.raw() + array.bytes()};
}

}  // namespace

std::vector<std::byte> file_of(const Tensor& tensor, const Entry& entry) {
  auto cells = encode(tensor, entry.layout, entry.codes ? entry.codes->zero_point : 0);
  if (entry.format == Format::bin) return cells;
  const Tensor array = array_of(cells, entry);
  return entry.format == Format::npy ? io::serialize_npy(array, entry.name) : text_of(array);
}

std::vector<std::byte> cells_of(std::span<const std::byte> file, const Entry& entry, const std::string& where) {
  if (entry.format == Format::bin) return {file.begin(), file.end()};
  if (entry.format == Format::txt) return parsed_text(file, entry, where);
  const Tensor array = io::parse_npy(file, where);
  const DType type = stored_type(entry.type, entry.layout).dtype;
  if (size_of(array.dtype()) != size_of(type) || is_float(array.dtype()) != is_float(type))
    fail(errors::dump_file_unfit(where, to_string(array.type()),
                                 fmt::format("elements of type {}", halfstep::name(type))));
  return {array.raw(), array.raw() + array.bytes()};
}

}  // namespace halfstep::board
