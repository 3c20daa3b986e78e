#include "halfstep/core/base/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/status.h"

namespace halfstep {
namespace {

uint16_t sign_bit(const SmallFloat& format) {
  return static_cast<uint16_t>(1U << (format.exponent_bits + format.mantissa_bits));
}

/// Code of the largest finite magnitude.
uint16_t largest_code(const SmallFloat& format) {
  const unsigned all = sign_bit(format) - 1U;
  switch (format.top) {
    case TopCodes::ieee: return static_cast<uint16_t>(all - (1U << format.mantissa_bits));
    case TopCodes::fn: return static_cast<uint16_t>(all - 1U);
    case TopCodes::fnuz:
    case TopCodes::finite: break;
  }
  return static_cast<uint16_t>(all);
}

double magnitude(unsigned code, const SmallFloat& format) {
  const unsigned mantissa = code & ((1U << format.mantissa_bits) - 1U);
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  const unsigned hidden = exponent > 0 ? 1U << format.mantissa_bits : 0U;
  return std::ldexp(hidden + mantissa, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

uint16_t overflowed(const SmallFloat& format, bool saturate) {
  if (saturate || format.top == TopCodes::finite) return largest_code(format);
  if (format.top == TopCodes::ieee) return static_cast<uint16_t>(largest_code(format) + 1U);
  return format.quiet_nan();
}

}  // namespace

SmallFloat SmallFloat::of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {5, 10, 15, TopCodes::ieee};
    case DType::bf16: return {8, 7, 127, TopCodes::ieee};
    case DType::f8_e4m3fn: return {4, 3, 7, TopCodes::fn};
    case DType::f8_e4m3fnuz: return {4, 3, 8, TopCodes::fnuz};
    case DType::f8_e5m2: return {5, 2, 15, TopCodes::ieee};
    case DType::f8_e5m2fnuz: return {5, 2, 16, TopCodes::fnuz};
    case DType::f4_e2m1fn: return {2, 1, 1, TopCodes::finite};
    default: break;
  }
  HS_CHECK(false);
  return {};
}

double SmallFloat::largest() const { return magnitude(largest_code(*this), *this); }

uint16_t SmallFloat::quiet_nan() const {
  switch (top) {
    case TopCodes::ieee: return static_cast<uint16_t>(largest_code(*this) + 1U + (1U << (mantissa_bits - 1)));
    case TopCodes::fn: return static_cast<uint16_t>(sign_bit(*this) - 1U);
    case TopCodes::fnuz: return sign_bit(*this);
    case TopCodes::finite: break;
  }
  return 0;
}

double decode(uint16_t bits, const SmallFloat& format) {
  const unsigned sign = bits & sign_bit(format);
  const unsigned code = bits & (sign_bit(format) - 1U);
  double value = 0;
  if (format.top == TopCodes::fnuz && bits == format.quiet_nan()) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (code <= largest_code(format)) {
    value = magnitude(code, format);
  } else if (format.top == TopCodes::ieee && code == largest_code(format) + 1U) {
    value = std::numeric_limits<double>::infinity();
  } else {
    value = std::numeric_limits<double>::quiet_NaN();
  }
  return sign != 0 ? -value : value;
}

uint16_t encode(double value, const SmallFloat& format, bool saturate) {
  const uint16_t sign = std::signbit(value) ? sign_bit(format) : uint16_t{0};
  const auto with_sign = [&](unsigned code) {
    const bool has_no_such_zero = format.top == TopCodes::fnuz && (code == 0 || code == format.quiet_nan());
    return static_cast<uint16_t>(has_no_such_zero ? code : code | sign);
  };
  if (std::isnan(value)) return with_sign(format.top == TopCodes::finite ? largest_code(format) : format.quiet_nan());
  const double size = std::fabs(value);
  if (std::isinf(size)) return with_sign(overflowed(format, saturate));
  if (size == 0) return with_sign(0);
  const int exponent = std::max(std::ilogb(size), 1 - format.bias);
  // Number of steps, exact except for the rounding. It counts from the code of the binade's first number, because codes
  // are consecutive across binades.
  const double steps = std::nearbyint(std::ldexp(size, format.mantissa_bits - exponent));
  const double first = std::ldexp(exponent + format.bias - 1, format.mantissa_bits);
  const double code = first + steps;
  return with_sign(code > largest_code(format) ? overflowed(format, saturate) : static_cast<unsigned>(code));
}

}  // namespace halfstep
