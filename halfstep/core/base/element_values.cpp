#include "halfstep/core/base/element_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/small_float.h"
#include "halfstep/core/base/with_number_type.h"

namespace halfstep {
namespace {

bool is_encoded(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 || is_small_float(dtype); }

}  // namespace

double element(const Tensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  if (is_encoded(tensor.dtype())) {
    const SmallFloat format = SmallFloat::of(tensor.dtype());
    return decode(is_small_float(tensor.dtype()) ? tensor.data<uint8_t>()[i] : tensor.data<uint16_t>()[i], format);
  }
  return with_number_type(tensor.dtype(), [&]<class T>() { return static_cast<double>(tensor.data<T>()[i]); });
}

bool can_hold(DType dtype, double value) {
  if (is_encoded(dtype) || is_float(dtype) || dtype == DType::boolean) return true;
  const bool is_signed = with_number_type(dtype, []<class T>() { return std::is_signed_v<T>; });
  const double past = std::ldexp(1.0, bits_of(dtype) - (is_signed ? 1 : 0)), whole = std::trunc(value);
  return whole < past && whole >= (is_signed ? -past : 0);
}

void set_element(Tensor& tensor, int64_t index, double value) {
  const auto i = static_cast<size_t>(index);
  const DType dtype = tensor.dtype();
  if (is_small_float(dtype)) {
    tensor.data<uint8_t>()[i] = static_cast<uint8_t>(encode(value, SmallFloat::of(dtype), true));
  } else if (is_encoded(dtype)) {
    tensor.data<uint16_t>()[i] = encode(value, SmallFloat::of(dtype), false);
  } else {
    with_number_type(dtype, [&]<class T>() { tensor.data<T>()[i] = static_cast<T>(value); });
  }
}

Tensor narrowed(const Tensor& tensor) {
  if (tensor.dtype() != DType::f64) return tensor;
  Tensor narrow = Tensor::uninitialized(DType::f32, tensor.dims());
  std::ranges::transform(tensor.data<double>(), narrow.data<float>().begin(),
                         [](double number) { return static_cast<float>(number); });
  return narrow;
}

std::pair<double, double> whole_range(DType dtype) {
  constexpr double kExact = 0x1p53;
  if (const int bits = bits_of(dtype); bits < 8) {
    const double codes = 1 << bits;
    return stored_as<int8_t>(dtype) ? std::pair(-codes / 2, codes / 2 - 1) : std::pair(0.0, codes - 1);
  }
  return with_number_type(dtype, [&]<class T>() {
    return std::pair(std::max(static_cast<double>(std::numeric_limits<T>::lowest()), -kExact),
                     std::min(static_cast<double>(std::numeric_limits<T>::max()), kExact));
  });
}

}  // namespace halfstep
