// Dispatch from a dtype to the C++ type of its numbers.
#pragma once

#include "halfstep/core/base/dtype.h"
#include "halfstep/core/base/status.h"

namespace halfstep {

/// Calls body.template operator()<T>() with the C++ type T of the numbers of `dtype`. Not for floats of 16 bits or
/// fewer, because their elements are codes.
template <class Body>
decltype(auto) with_number_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f32: return body.template operator()<float>();
    case DType::f64: return body.template operator()<double>();
    case DType::i2:
    case DType::i4:
    case DType::i8: return body.template operator()<int8_t>();
    case DType::u2:
    case DType::u4:
    case DType::u8: return body.template operator()<uint8_t>();
    case DType::i16: return body.template operator()<int16_t>();
    case DType::u16: return body.template operator()<uint16_t>();
    case DType::i32: return body.template operator()<int32_t>();
    case DType::i64: return body.template operator()<int64_t>();
    case DType::u32: return body.template operator()<uint32_t>();
    case DType::u64: return body.template operator()<uint64_t>();
    default: break;
  }
  HS_CHECK(dtype == DType::boolean);
  return body.template operator()<bool>();
}

}  // namespace halfstep
