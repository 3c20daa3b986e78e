#include "halfstep/formats/builder/foreign_operand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

constexpr int64_t kMaxElementsList = 4096;

bool is_whole(DType dtype) { return !is_float(dtype) && !is_small_float(dtype); }

int64_t integer_at(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::i64 ? tensor.data<int64_t>()[static_cast<size_t>(i)]
                                      : static_cast<int64_t>(element(tensor, i));
}

}  // namespace

Element::Element(std::optional<Tried> tried) : value_(tried ? constant(*tried) : std::nullopt), tried_(tried) {}

std::optional<Tried> Element::tried() const { return value_ ? always(*value_) : tried_; }

bool Elements::known() const {
  return std::all_of(values.begin(), values.end(), [](const Element& value) { return static_cast<bool>(value); });
}

Type Elements::type() const {
  const auto count = static_cast<int64_t>(values.size());
  if (columns > 0) return {dtype, {count / columns, columns}};
  return {dtype, scalar ? Dims{} : Dims{count}};
}

Tensor Elements::tensor() const {
  Tensor tensor(type().dtype, type().dims);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::i64) {
      tensor.data<int64_t>()[i] = *values[i];
    } else {
      set_element(tensor, static_cast<int64_t>(i), static_cast<double>(static_cast<int32_t>(*values[i])));
    }
  }
  return tensor;
}

Type Operand::type() const {
  if (value) return value.type();
  if (tensor.defined()) return tensor.type();
  if (!elements) fail(errors::part_missing("", "an input"));
  return elements->type();
}

std::optional<Elements> elements_of(const Operand& operand) {
  if (operand.elements) return operand.elements;
  const Tensor& tensor = operand.tensor;
  const auto is_listed = [](DType dtype) {
    return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::boolean;
  };
  if (!tensor.defined() || !is_listed(tensor.dtype()) || tensor.dims().size() > 1 || tensor.size() > kMaxElementsList)
    return std::nullopt;
  Elements elements{{}, tensor.dims().empty(), tensor.dtype()};
  for (int64_t i = 0; i < tensor.size(); ++i) elements.values.emplace_back(integer_at(tensor, i));
  return elements;
}

void store(Tensor& tensor, int64_t index, double value) {
  if (!can_hold(tensor.dtype(), value)) fail(errors::number_not_in_type(value, name(tensor.dtype())));
  set_element(tensor, index, value);
}

int64_t integer(double value) {
  if (value != std::trunc(value) || std::fabs(value) > 0x1p53) fail(errors::not_an_integer("", value));
  return static_cast<int64_t>(value);
}

Tensor filled(DType dtype, const Dims& dims, double value) {
  Tensor tensor = Tensor::uninitialized(dtype, dims);
  if (tensor.size() == 0) return tensor;
  store(tensor, 0, value);
  std::byte* bytes = tensor.raw();
  for (size_t made = size_of(dtype); made < tensor.bytes(); made *= 2)
    std::memcpy(bytes + made, bytes, std::min(made, tensor.bytes() - made));
  return tensor;
}

std::vector<int64_t> integers_of(const Tensor& tensor, const std::string& where) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double number = is_whole(tensor.dtype()) ? 0 : element(tensor, i);
    if (number != std::trunc(number) || std::fabs(number) > 0x1p53) fail(errors::not_an_integer(where, number));
    list.push_back(is_whole(tensor.dtype()) ? integer_at(tensor, i) : static_cast<int64_t>(number));
  }
  return list;
}

}  // namespace halfstep::formats
