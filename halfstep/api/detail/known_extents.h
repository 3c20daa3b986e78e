// Extents that stand for open ones in an inspection.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// For open extents that are not the first the first of these that a network takes: an image, or a sentence. A stored
/// tensor that is added, or a large window, may leave it few. Small ones are last: what is one element of a small image
/// repeats, and fits what is stored for a larger one.
inline constexpr std::array<int64_t, 27> kAssumedExtents = {64,  224,  32,  128, 256, 512, 96,  112, 160,
                                                            192, 288,  299, 320, 384, 416, 448, 640, 768,
                                                            800, 1024, 56,  48,  28,  24,  14,  16,  8};

/// What to say of a network that takes none of them, with the way on.
Diagnostic takes_none_of_them();

/// `batch` is the first extent where that is open, `extent` any other.
Dims assumed(Dims dims, int64_t batch, int64_t extent);

/// The model for inputs of such extents. Throws what it says to the first of kAssumedExtents, with the way on, where it
/// takes none.
Model with_known_extents(const Model& model, int64_t batch);

/// Those of its arguments.
std::map<std::string, Dims> known_extents(const Model& model, int64_t batch);

}  // namespace halfstep::api
