// Assumed extents in place of dynamic dimensions, for inspection.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// Candidates for dynamic dimensions other than the first, in the order tried. The first one that the network accepts
/// is used. Typical sizes of images and sentences come first. An added stored tensor or a large window may rule out
/// most of them. Small extents come last: a dimension of one element would broadcast and so match tensors stored for
/// larger images.
inline constexpr std::array<int64_t, 27> kAssumedExtents = {64,  224,  32,  128, 256, 512, 96,  112, 160,
                                                            192, 288,  299, 320, 384, 416, 448, 640, 768,
                                                            800, 1024, 56,  48,  28,  24,  14,  16,  8};

/// Returns the diagnostic for a network that accepts none of the candidates, with a remedy.
Diagnostic takes_none_of_them();

/// `batch` replaces a dynamic first dimension, `extent` any other dynamic dimension.
Dims assumed(Dims dims, int64_t batch, int64_t extent);

/// Returns the model specialized to assumed extents. If no candidate is accepted, throws the error of the first
/// candidate, with a remedy.
Model with_known_extents(const Model& model, int64_t batch);

/// Returns the assumed extents of the arguments.
std::map<std::string, Dims> known_extents(const Model& model, int64_t batch);

}  // namespace halfstep::api
