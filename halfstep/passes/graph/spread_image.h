// Images whose elements lie apart, the input of transposed convolutions in the form of convolutions.
#pragma once

#include <array>
#include <optional>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

struct SpreadImage {
  Value image;                     ///< [n, c, h, w]
  std::array<int64_t, 2> strides;  ///< elements of `image` are this far apart along each axis
};

/// The image whose elements lie apart in `x`, with `zero` behind each of them, as canonical/layers/spatial_forms.h
/// writes it: an unsqueeze, a pad and a reshape. Nothing if `x` has another form or unknown extents.
std::optional<SpreadImage> spread_image(const Model& model, Value x, double zero);

}  // namespace halfstep::passes
