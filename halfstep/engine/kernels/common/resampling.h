// Resampling from the attributes of operators.
#pragma once

#include "halfstep/core/arith/resample.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// `Typed` is the generated attribute struct of an operator with the attributes of resize.
template <class Typed>
arith::Resampling resampling_of(const Typed& a) {
  return {a.sizes,         a.scales,          a.axes,     a.roi, a.policy, a.mode, a.nearest_mode, a.coordinates,
          a.cubic_coeff_a, a.exclude_outside, a.antialias};
}

/// Refuses a resampling of codes that extrapolates.
template <class Typed>
Verdict accept_resampling(const Problem& problem) {
  const Typed a(problem.attributes);
  if (a.coordinates == "tf_crop_and_resize")
    return refuse(errors::attribute_does_not_fit("coordinates", a.coordinates, "positions inside x"));
  return accept();
}

}  // namespace halfstep::kernels
