// Resampling from the attributes of operators.
#pragma once

#include "halfstep/core/arith/resample.h"

namespace halfstep::kernels {

/// `Typed` is the generated attribute struct of an operator with the attributes of resize.
template <class Typed>
arith::Resampling resampling_of(const Typed& a) {
  return {a.sizes,        a.scales,      a.axes,          a.roi,             a.policy,   a.mode,
          a.nearest_mode, a.coordinates, a.cubic_coeff_a, a.exclude_outside, a.antialias};
}

}  // namespace halfstep::kernels
