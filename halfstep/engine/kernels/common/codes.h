// Codes in memory: u8, u16, i8 or i16.
#pragma once

#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

constexpr bool is_wide(DType codes) { return codes == DType::u16 || codes == DType::i16; }

/// Address of an element.
template <class Void>
Void* element_of(const BasicView<Void>& view, int64_t index) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  return view.template as<Byte>() + index * static_cast<int64_t>(size_of(view.dtype));
}

/// Calls body.template operator()<Code>() with the C++ type of such codes.
template <class Body>
decltype(auto) with_codes(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::u8: return body.template operator()<uint8_t>();
    case DType::u16: return body.template operator()<uint16_t>();
    case DType::i16: return body.template operator()<int16_t>();
    default: return body.template operator()<int8_t>();
  }
}

/// Calls body(elements as const Code*).
template <class Body>
decltype(auto) visit_codes(const ConstView& view, Body&& body) {
  return with_codes(view.dtype, [&]<class Code>() -> decltype(auto) { return body(view.as<const Code>()); });
}

/// Calls body(elements as Code*).
template <class Body>
decltype(auto) visit_codes(const View& view, Body&& body) {
  return with_codes(view.dtype, [&]<class Code>() -> decltype(auto) { return body(view.as<Code>()); });
}

/// Reads codes of any type one by one. Used where several operands would multiply the types of a kernel.
class CodeReader {
 public:
  explicit CodeReader(const ConstView& view) : view_(view) {}
  int32_t operator[](int64_t i) const {
    return with_codes(view_.dtype, [&]<class Code>() { return int32_t{view_.as<const Code>()[i]}; });
  }

 private:
  const ConstView& view_;
};

}  // namespace halfstep::kernels
