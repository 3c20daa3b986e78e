#include "halfstep/formats/onnx/operand.h"

#include <algorithm>
#include <cmath>

#include "halfstep/base/small_float.h"

namespace halfstep::formats::onnx {
namespace {

constexpr int64_t kMaxElementsList = 4096;

template <class T>
double at(const Tensor& tensor, int64_t i) {
  return static_cast<double>(tensor.data<T>()[static_cast<size_t>(i)]);
}

bool is_whole(DType dtype) { return !is_float(dtype) && !is_small_float(dtype); }

int64_t integer_at(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::i64 ? tensor.data<int64_t>()[static_cast<size_t>(i)]
                                      : static_cast<int64_t>(number_at(tensor, i));
}

}  // namespace

bool Elements::known() const {
  return std::all_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
}

Type Elements::type() const { return {dtype, scalar ? Dims{} : Dims{static_cast<int64_t>(values.size())}}; }

Tensor Elements::tensor() const {
  Tensor tensor(type().dtype, type().dims);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::i64) {
      tensor.data<int64_t>()[i] = *values[i];
    } else {
      tensor.data<int32_t>()[i] = static_cast<int32_t>(*values[i]);
    }
  }
  return tensor;
}

Type Operand::type() const {
  if (value) return value.type();
  if (tensor.defined()) return tensor.type();
  HS_CHECK(elements.has_value());
  return elements->type();
}

std::optional<Elements> elements_of(const Operand& operand) {
  if (operand.elements) return operand.elements;
  const Tensor& tensor = operand.tensor;
  if (!tensor.defined() || (tensor.dtype() != DType::i64 && tensor.dtype() != DType::i32) || tensor.dims().size() > 1 ||
      tensor.size() > kMaxElementsList)
    return std::nullopt;
  Elements elements{{}, tensor.dims().empty(), tensor.dtype()};
  for (int64_t i = 0; i < tensor.size(); ++i) elements.values.emplace_back(integer_at(tensor, i));
  return elements;
}

double number_at(const Tensor& tensor, int64_t i) {
  const DType dtype = tensor.dtype();
  switch (dtype) {
    case DType::f32: return at<float>(tensor, i);
    case DType::f64: return at<double>(tensor, i);
    case DType::f16:
    case DType::bf16: return decode(tensor.data<uint16_t>()[static_cast<size_t>(i)], SmallFloat::of(dtype));
    case DType::i64: return at<int64_t>(tensor, i);
    case DType::i32: return at<int32_t>(tensor, i);
    case DType::i16: return at<int16_t>(tensor, i);
    case DType::u16: return at<uint16_t>(tensor, i);
    case DType::boolean: return at<bool>(tensor, i);
    case DType::i8:
    case DType::i4:
    case DType::i2: return at<int8_t>(tensor, i);
    case DType::u8:
    case DType::u4:
    case DType::u2: return at<uint8_t>(tensor, i);
    default: break;
  }
  if (is_small_float(dtype)) return decode(tensor.data<uint8_t>()[static_cast<size_t>(i)], SmallFloat::of(dtype));
  unsupported("element type {} is not supported as a number", name(dtype));
}

namespace {

template <class T>
void fill(Tensor& tensor, T value) {
  const auto elements = tensor.data<T>();
  std::fill(elements.begin(), elements.end(), value);
}

}  // namespace

Tensor filled(DType dtype, const Dims& dims, double value) {
  Tensor tensor = Tensor::uninitialized(dtype, dims);
  switch (dtype) {
    case DType::f32: fill(tensor, static_cast<float>(value)); break;
    case DType::f64: fill(tensor, value); break;
    case DType::i64: fill(tensor, static_cast<int64_t>(value)); break;
    case DType::i32: fill(tensor, static_cast<int32_t>(value)); break;
    case DType::i16: fill(tensor, static_cast<int16_t>(value)); break;
    case DType::u16: fill(tensor, static_cast<uint16_t>(value)); break;
    case DType::boolean: fill(tensor, value != 0); break;
    case DType::f16:
    case DType::bf16: fill(tensor, encode(value, SmallFloat::of(dtype), false)); break;
    default:
      if (is_small_float(dtype))
        fill(tensor, static_cast<uint8_t>(encode(value, SmallFloat::of(dtype), true)));
      else if (stored_as<int8_t>(dtype))
        fill(tensor, static_cast<int8_t>(value));
      else if (stored_as<uint8_t>(dtype))
        fill(tensor, static_cast<uint8_t>(value));
      else
        unsupported("element type {} is not supported as a number", name(dtype));
  }
  return tensor;
}

std::vector<int64_t> integers_of(const Tensor& tensor, const std::string& where) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double number = is_whole(tensor.dtype()) ? 0 : number_at(tensor, i);
    if (number != std::trunc(number) || std::fabs(number) > 0x1p53)
      fail("{}: found {}, expected whole numbers", where, number);
    list.push_back(is_whole(tensor.dtype()) ? integer_at(tensor, i) : static_cast<int64_t>(number));
  }
  return list;
}

}  // namespace halfstep::formats::onnx
