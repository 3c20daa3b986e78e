// The largest or smallest element, or NaN if any element is NaN.
#pragma once

#include "halfstep/engine/kernels/common/number_types.h"

namespace halfstep::kernels {

/// Floats start from infinity, so that neither an empty reduction nor one of infinities returns a limit of the type.
template <class T, bool largest>
struct ExtremeFold {
  using W = Wide<T>;
  W best = start();
  static constexpr W start() {
    if constexpr (std::numeric_limits<W>::has_infinity)
      return largest ? -std::numeric_limits<W>::infinity() : std::numeric_limits<W>::infinity();
    return largest ? std::numeric_limits<W>::lowest() : std::numeric_limits<W>::max();
  }
  void add(T element) {
    const W value = widen(element);
    best = (largest ? value > best : value < best) || value != value ? value : best;
  }
  T finish(int64_t) const { return narrow<T>(best); }
};

}  // namespace halfstep::kernels
