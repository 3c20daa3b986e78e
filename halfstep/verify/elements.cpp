#include "halfstep/verify/elements.h"

#include <limits>

namespace halfstep::verify {
namespace {

/// Calls body.template operator()<T>() with the C++ type that stores the dtype.
template <class Body>
decltype(auto) with_stored(DType dtype, Body body) {
  switch (dtype) {
    case DType::f32: return body.template operator()<float>();
    case DType::f64: return body.template operator()<double>();
    case DType::i4:
    case DType::i8: return body.template operator()<int8_t>();
    case DType::u8: return body.template operator()<uint8_t>();
    case DType::i16: return body.template operator()<int16_t>();
    case DType::f16:
    case DType::bf16:
    case DType::u16: return body.template operator()<uint16_t>();
    case DType::i32: return body.template operator()<int32_t>();
    case DType::i64: return body.template operator()<int64_t>();
    case DType::boolean: break;
  }
  return body.template operator()<bool>();
}

}  // namespace

double element(const Tensor& tensor, int64_t index) {
  return with_stored(tensor.dtype(),
                     [&]<class T>() { return static_cast<double>(tensor.data<T>()[static_cast<size_t>(index)]); });
}

void set_element(Tensor& tensor, int64_t index, double value) {
  with_stored(tensor.dtype(), [&]<class T>() { tensor.data<T>()[static_cast<size_t>(index)] = static_cast<T>(value); });
}

std::pair<double, double> whole_range(DType dtype) {
  constexpr double kExact = 0x1p53;
  if (dtype == DType::i4) return {-8, 7};
  return with_stored(dtype, [&]<class T>() {
    return std::pair(std::max(static_cast<double>(std::numeric_limits<T>::lowest()), -kExact),
                     std::min(static_cast<double>(std::numeric_limits<T>::max()), kExact));
  });
}

}  // namespace halfstep::verify
