#include "halfstep/engine/runtime/value_range.h"

#include <cmath>
#include <vector>

#include "halfstep/core/base/with_number_type.h"

namespace halfstep::runtime {
namespace {

bool has_numbers(DType dtype) { return dtype != DType::f16 && dtype != DType::bf16 && !is_small_float(dtype); }

template <class T>
ValueRange range_of_elements(const T* elements, int64_t count) {
  ValueRange range{1, 0, 0, true};
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<double>(elements[i]);
    if (std::isnan(number)) {
      ++range.not_numbers;
      continue;
    }
    range.low = any ? std::fmin(range.low, number) : number;
    range.high = any ? std::fmax(range.high, number) : number;
    any = true;
  }
  return range;
}

}  // namespace

ValueRange range_of(Device& device, const kernels::View& value) {
  if (!value.present() || !has_numbers(value.dtype)) return {};
  const auto* at = static_cast<const std::byte*>(value.data);
  std::vector<std::byte> copy;
  if (!device.is_host()) {
    copy.resize(static_cast<size_t>(value.size()) * size_of(value.dtype));
    if (!device.download(copy.data(), at, copy.size()).ok()) return {};
    at = copy.data();
  }
  return with_number_type(value.dtype,
                          [&]<class T>() { return range_of_elements(reinterpret_cast<const T*>(at), value.size()); });
}

}  // namespace halfstep::runtime
