// Codes in memory: u8 or u16.
#pragma once

#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels {

/// body(elements as const uint8_t* or const uint16_t*).
template <class Body>
decltype(auto) visit_codes(const ConstView& view, Body&& body) {
  return view.dtype == DType::u8 ? body(view.as<const uint8_t>()) : body(view.as<const uint16_t>());
}

/// body(elements as uint8_t* or uint16_t*).
template <class Body>
decltype(auto) visit_codes(const View& view, Body&& body) {
  return view.dtype == DType::u8 ? body(view.as<uint8_t>()) : body(view.as<uint16_t>());
}

}  // namespace halfstep::kernels
