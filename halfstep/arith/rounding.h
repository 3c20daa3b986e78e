// Rounding modes of quantizers. docs/arithmetic.md, section 1.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

#include "halfstep/base/host_device.h"

namespace halfstep::arith {

enum class Rounding {
  half_even,  ///< IEEE 754 roundTiesToEven
  half_away,  ///< half a step goes away from zero
  half_up     ///< half a step goes towards plus infinity
};

constexpr std::optional<Rounding> parse_rounding(std::string_view text) {
  if (text == "half_even") return Rounding::half_even;
  if (text == "half_away") return Rounding::half_away;
  if (text == "half_up") return Rounding::half_up;
  return std::nullopt;
}

/// The whole number nearest to `v`; NaN and infinities stay. Needs the environment's rounding to be to nearest.
template <class T>
HS_HOST_DEVICE T round_to(T v, Rounding mode) {
  switch (mode) {
    case Rounding::half_even: return std::nearbyint(v);
    case Rounding::half_away: return std::round(v);
    case Rounding::half_up: {
      const T floor = std::floor(v);  // not floor(v + 0.5): the sum may round up across the tie
      return v - floor >= T(0.5) ? floor + T(1) : floor;
    }
  }
  return v;
}

}  // namespace halfstep::arith
