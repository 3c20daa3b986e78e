// Division that rounds up.
#pragma once

#include <concepts>
#include <type_traits>

#include "halfstep/core/base/host_device.h"

namespace halfstep {

/// Returns a / b, rounded up. `b` is positive.
template <std::integral A, std::integral B>
HS_HOST_DEVICE constexpr std::common_type_t<A, B> ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

/// Returns the least multiple of `b` that is >= `a`. `b` is positive.
template <std::integral A, std::integral B>
HS_HOST_DEVICE constexpr std::common_type_t<A, B> round_up(A a, B b) {
  return ceil_div(a, b) * b;
}

}  // namespace halfstep
